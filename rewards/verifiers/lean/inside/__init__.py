"""What runs inside the sandbox, over files that hostile code may have written.

    command    runs a program of the toolchain, and hands over the files that it made
    heap       the objects of an .olean file
    terms      names, levels, expressions and constants, each term once
    olean      a module: its imports and its constants
    show       terms as text
    reach      which constants a term leads to
    compare    whether a submission proves the statement of a target
    job        the comparison as a program
    Compare.lean    the same comparison, as a Lean program

The Python ones are shipped as plain modules to where nothing else of this package exists: they use
the standard library and each other only.
"""
