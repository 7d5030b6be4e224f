from hypothesis import settings

# a first example may compile a kernel
settings.register_profile("unhot", deadline=None)
settings.load_profile("unhot")
