"""What stands in files, made into values of the core: wire in, frozen values out, errors that name the place."""
