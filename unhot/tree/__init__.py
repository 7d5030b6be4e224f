"""Binary trees (paths) and nested classes (groups), which make a word's probability a product of choices."""
