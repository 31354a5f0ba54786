"""Make the page anew."""

from .page import PAGE, text

PAGE.write_text(text(), encoding="utf-8")
print(f"wrote {PAGE.name}")
