"""Make the page and the README's table anew."""

from tools import regions

from .page import PAGE, README, REGION, summary, text

PAGE.write_text(text(), encoding="utf-8")
README.write_text(regions.filled(README.read_text(encoding="utf-8"), *REGION, summary()), encoding="utf-8")
print(f"wrote {PAGE.name} and the table in {README.name}")
