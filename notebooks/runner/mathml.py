"""MathML of the TeX in the notebooks, which browsers draw without network and fonts.

It covers the commands that the notebooks use, and few more. Where it meets another
one, `convert` raises an Unknown, and the caller shows the TeX itself.
"""

import html

SYMBOLS = {
    **dict(zip("alpha beta gamma delta varepsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi varphi chi psi omega".split(), "αβγδεζηθκλμνξπρστϕφχψω")),
    **dict(zip("Gamma Delta Theta Lambda Pi Sigma Phi Psi Omega ell partial nabla infty dots ldots".split(), "ΓΔΘΛΠΣΦΨΩℓ∂∇∞……")),
}  # fmt: skip
OPERATORS = {
    **dict(zip("top in notin ge le ne to approx leftarrow sim pm cdot times circ subset mid".split(), "⊤∈∉≥≤≠→≈←∼±⋅×∘⊂∣")),
    **dict(zip("-*':", "−∗′:")),
    "odot": "⊙", "mapsto": "↦", "propto": "∝", "equiv": "≡", "iff": "⟺", "Rightarrow": "⇒", "forall": "∀", "exists": "∃", "{": "{", "}": "}",
}  # fmt: skip
FENCES = {"lVert": "‖", "rVert": "‖", "|": "‖", "langle": "⟨", "rangle": "⟩", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "lvert": "|", "rvert": "|"}
LARGE = {"sum": "∑", "prod": "∏", "int": "∫"}
FUNCTIONS = {"log", "exp", "max", "min", "arg", "sup", "inf", "cos", "sin", "det"}
LIMITS = {"max", "min", "sup", "inf"}
SPACES = {",": ".17em", ":": ".22em", ";": ".28em", " ": ".33em", "quad": "1em", "qquad": "2em", "!": "-.17em"}
ACCENTS = {"hat": "^", "tilde": "~", "bar": "¯", "dot": "˙"}
SIZES = {"big": "1.2em", "Big": "1.6em", "bigg": "2em", "Bigg": "2.5em"}
FONTS = {"mathbf": "bf", "mathcal": "cal", "mathrm": "rm", "mathbb": "bf"}
TABLES = {"pmatrix": "()", "bmatrix": "[]", "matrix": ("", ""), "aligned": ("", ""), "cases": ("{", "")}


class Unknown(Exception):
    """TeX that is not converted."""


def convert(tex, display=False):
    """The element <math> of some TeX."""
    reader = Reader(tex, display)
    body = reader.row()
    if reader.at < len(tex):
        raise Unknown(tex[reader.at :])
    block = ' display="block"' if display else ""
    return f'<math{block} alttext="{html.escape(tex, quote=True)}">{body}</math>'


def tag(name, *parts, **attributes):
    written = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{name}{written}>{''.join(parts)}</{name}>"


def fence(character, size=None):
    how = {"minsize": size, "maxsize": size} if size else {"stretchy": "false"}
    return tag("mo", html.escape(character), lspace="0", rspace="0", **how)


class Reader:
    def __init__(self, tex, display):
        self.tex, self.display, self.at = tex, display, 0

    def peek(self):
        """The next token, or "" at the end: a command, or a character that is no space."""
        while self.tex[self.at : self.at + 1].isspace():
            self.at += 1
        if self.tex[self.at : self.at + 1] != "\\":
            return self.tex[self.at : self.at + 1]
        end = self.at + 1
        while self.tex[end : end + 1].isalpha() and self.tex[end].isascii():
            end += 1
        return self.tex[self.at : max(end, self.at + 2)]

    def take(self, wanted=None):
        token = self.peek()
        if not token or wanted is not None and token != wanted:
            raise Unknown(f"{self.tex!r} lacks {wanted or 'an argument'}")
        self.at += len(token)
        return token

    def raw(self):
        """The text of a group."""
        self.take("{")
        end = self.tex.find("}", self.at)
        text = self.tex[self.at : end]
        if end < 0 or "{" in text or "\\" in text or "$" in text:
            raise Unknown(f"{text!r} as text")
        self.at = end + 1
        return text

    def row(self):
        """All up to the end of the group or cell that it begins in, as one element."""
        parts = []
        while self.peek() not in ("", "}", "&", "\\\\", "\\end", "\\right"):
            parts.append(self.scripts(*self.atom(True)))
        return parts[0] if len(parts) == 1 else tag("mrow", *parts)

    def scripts(self, base, limits=False):
        """An element with the sub- and superscripts that follow it."""
        below = above = ""
        while self.peek() in ("^", "_", "'") and self.peek():
            mark = self.take()
            if mark == "'":
                above += tag("mo", "′")
            elif mark == "^":
                above += self.argument()
            elif below:
                raise Unknown("two subscripts")
            else:
                below = self.argument()
        above = tag("mrow", above) if above else ""
        under = limits and self.display
        if below and above:
            return tag("munderover" if under else "msubsup", base, below, above)
        if below:
            return tag("munder" if under else "msub", base, below)
        return tag("mover" if under else "msup", base, above) if above else base

    def argument(self):
        if self.peek() != "{":
            return self.atom(False)[0]
        self.take()
        inner = self.row()
        self.take("}")
        return inner

    def atom(self, whole):
        """The next element and whether its scripts are limits. A number has all its
        digits if it is read whole, as it is not in an argument without braces."""
        token = self.peek()
        if token == "{":
            return self.argument(), False
        self.take()
        if token.startswith("\\"):
            return self.command(token[1:])
        if token.isdigit() or token == "." and self.tex[self.at : self.at + 1].isdigit():
            while whole and (self.tex[self.at : self.at + 1].isdigit() or self.tex[self.at : self.at + 1] == "." and self.tex[self.at + 1 : self.at + 2].isdigit()):
                token += self.tex[self.at]
                self.at += 1
            return tag("mn", token), False
        if token.isalpha():
            return tag("mi", token), False
        if token in "()[]|":
            return fence(token), False
        if token == "~":
            return tag("mspace", width=SPACES[" "]), False
        if token in "^_$%#":
            raise Unknown(f"{token} without a base")
        return tag("mo", html.escape(OPERATORS.get(token, token))), False

    def command(self, name):
        if name in SYMBOLS:
            return tag("mi", SYMBOLS[name]), False
        if name in OPERATORS:
            return tag("mo", OPERATORS[name]), False
        if name in FENCES:
            return fence(FENCES[name]), False
        if name in LARGE:
            return tag("mo", LARGE[name], **{"class": "large", "largeop": "false", "movablelimits": "false"}), name != "int"
        if name in FUNCTIONS:
            gap = "" if self.peek()[:1] in "([{_^|" else tag("mspace", width=SPACES[","])
            return tag("mi", name) + gap, name in LIMITS
        if name in SPACES:
            return tag("mspace", width=SPACES[name]), False
        if name in ("text", "operatorname"):
            return tag("mtext" if name == "text" else "mi", html.escape(self.raw().replace(" ", "\xa0"))), False
        if name in ("frac", "tfrac", "dfrac"):
            style = {} if name == "frac" else {"displaystyle": "false" if name == "tfrac" else "true"}
            return tag("mstyle", tag("mfrac", self.argument(), self.argument()), **style) if style else tag("mfrac", self.argument(), self.argument()), False
        if name == "sqrt":
            return tag("msqrt", self.argument()), False
        if name in ACCENTS:
            return tag("mover", self.argument(), tag("mo", ACCENTS[name]), accent="true"), False
        if name in FONTS:
            letters = self.raw() if self.peek() == "{" else self.take()
            if not letters.isalnum():
                raise Unknown(f"\\{name}{letters}")
            return tag("mi", letters, **{"mathvariant": "normal", "class": FONTS[name]}), False
        if name == "rm":  # to the end of its group
            letters = ""
            while self.peek().isalpha():
                letters += self.take()
            return tag("mi", letters, mathvariant="normal"), False
        if name == "left":
            return tag("mrow", self.delimiter(), self.row(), self.right()), False
        if size := SIZES.get(name[:-1] if name[-1:] in ("l", "r") else name):
            return self.delimiter(size), False
        if name == "begin":
            return self.table(), False
        raise Unknown(f"\\{name}")

    def delimiter(self, size=None):
        """A delimiter of that size or, without one, of what it encloses."""
        token = self.take()
        character = {**OPERATORS, **FENCES}.get(token[1:], "") if token.startswith("\\") else token
        if not character or character.isalnum():
            raise Unknown(f"{token} as a delimiter")
        return fence(character, size) if size else tag("mo", "" if character == "." else html.escape(character))

    def right(self):
        self.take("\\right")
        return self.delimiter()

    def table(self):
        kind = self.raw()
        if kind not in TABLES:
            raise Unknown(f"\\begin{{{kind}}}")
        rows = [[]]
        while True:
            rows[-1].append(tag("mtd", self.row()))
            token = self.take()
            if token == "\\\\":
                rows.append([])
            elif token == "\\end":
                break
            elif token != "&":
                raise Unknown(token)
        if self.raw() != kind:
            raise Unknown(f"\\end of {kind}")
        left, right = TABLES[kind]
        grid = tag("mtable", *(tag("mtr", *cells) for cells in rows))
        return tag("mrow", tag("mo", left) if left else "", grid, tag("mo", right) if right else "")
