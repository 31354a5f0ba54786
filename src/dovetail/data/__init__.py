"""The bundled catalogue: what each cloud sells, where, and at what price, as dated files. README.md lists them."""
