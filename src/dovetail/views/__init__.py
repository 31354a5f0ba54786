"""What people see: tables and texts made of values. No file, clock or terminal is known here."""
