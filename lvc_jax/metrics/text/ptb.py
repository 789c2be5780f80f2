"""The Penn Treebank rules on a piece of text without blanks: at every place the rule that reads furthest wins.

What a rule reads may be longer than its token (a word before a clitic counts the clitic too), and that decides which
rule wins; the first of equals. Written from the observed behaviour of the tokenizer that caption toolkits call.
"""

import re

# Keep their period wherever they stand, except before a letter (`etc.and` is one word).
_ABBREVIATIONS = (
    "adm|alex|asst|ave|brig|capt|cf|cmdr|col|cpl|dept|drs?|elec|ens|ft|gen|govs?|hon|insp|lt|maj|messrs|mfg|mlle|mme|"
    "mrs?|ms|mt|natl|pfc|ph|pres|profs?|pvt|reps?|rev|sens?|sgt|spc|st|supt|treas|vs"
)
# These also before a single letter (`etc.a` is two words).
_FIRM_ABBREVIATIONS = (
    "al|ala|apr|ariz|assn|aug|bhd|bldg|blvd|bros|calif|co|colo|conn|corp|cos|ct|dak|dec|esq|est|etc|ext|feb|fla|fri|"
    "ga|inc|ind|intl|jan|jr|jul|jun|kan|kans|ky|ltd|mar|md|mich|minn|mo|mon|mont|neb|nev|nov|oct|okla|penn|plc|rd|"
    r"sept?|seq|sq|sr|tel|tenn|thu|thurs|tues?|univ|va|vt|wed|wisc?|wyo|ph\.d"
)
# These only where the writer began them with a capital, and these only where not all letters are capitals.
_CAPITAL_ABBREVIATIONS = "ark|az|del|ill|la|mass|miss|ore|pa|tex|wash"
_SMALL_ABBREVIATIONS = "[Pp](?:te|ty)"
# Keep it only before a number.
BEFORE_NUMBER = "art|ca|figs?|nos?|op|pp|prop"
_JOINED = {
    "cannot": ("can", "not"),
    "gonna": ("gon", "na"),
    "gotta": ("got", "ta"),
    "wanna": ("wan", "na"),
    "lemme": ("lem", "me"),
    "gimme": ("gim", "me"),
}
_MARKS = {"(": "-lrb-", ")": "-rrb-", "{": "-lcb-", "}": "-rcb-", "[": "-lsb-", "]": "-rsb-", '"': "''"}
_ENTITIES = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&nbsp;": "", "&mdash;": "--", "&ndash;": "--"}

_L, _A = "[A-Za-z]", "[A-Za-z0-9]"
_END = f"(?!{_A})"
_PART = f"{_A}+(?:_{_A}+)*"
_SIDE = rf"{_A}+(?:-{_L}+){{0,2}}"
_DOTTED = rf"{_L}{_A}*(?:[.!?]{_L}{_A}*)+"
_ACRONYM = rf"(?:{_L}\.)+"
_CLITIC = "(?i:'(?:s|m|d|re|ve|ll))"
_NUMBER = r"(?:\d*(?:[.:,]\d+)+|\d+)"
_WWW = rf"(?i:www)(?:\.[^\s\"<>|(){{}}.,!?]+)+\.{_L}{{2,4}}"
_HOST = rf"(?:(?:[a-z]+\.)+(?i:com|net|org|edu)|{_WWW})"

_NAME = r"[A-Za-z][A-Za-z0-9.:_\-]*"
_ATTRIBUTE = rf"{_NAME}(?: *= *(?:\"[^\"]*\"|'[^']*'))?"
# An SGML tag, which may hold blanks.
TAG = rf"(?:<{_NAME}(?: +{_ATTRIBUTE})* */? *>|</{_NAME} *>|<[!?](?:[A-Za-z]|--)[^<>]*>)"

# Each rule's token is its first group, or all that it reads.
_RULES = [
    re.compile(pattern)
    for pattern in (
        r"(?i:https?)://[^\s\"<>|(){}]+[^\s\"<>|(){}.,!?\-]",
        _WWW,
        rf"{_HOST}/[^\s\"<>|()]+[^\s\"<>|(){{}}.,!?\-]",
        rf"{_A}[^\s\"<>|()&]{{0,200}}@[^\s\"<>|().{{}}]+(?:\.[^\s\"<>|().{{}}]+)*",
        rf"{TAG}|<[^\s<>]+@[^\s<>]+>",
        r"[A-Z]+(?:(?:\+|&(?:(?i:amp);)?)[A-Z]+)+",
        r"(?i:&(?:amp|lt|gt|quot|nbsp|apos|[mn]dash|ht|[tq]l|[ulq]r|qc|[oc]dq|#\d+);)",
        # Words that keep their apostrophe.
        rf"(?i:[odl]'(?!(?:ve|ll|re){_END}){_A}{_PART}(?:-{_PART})*)",
        rf"(?!{_L}{_CLITIC}{_END})[nA-HJ-XZ]'{_L}{{2,}}",
        rf"(?!{_L}+{_CLITIC}{_END}){_L}+[AEIOUYaeiouy]'[A-Zaeiou]{_L}*",
        rf"(?i:s'mores|c'mon|[cn]'est|qu'{_L}+|(?:n|o)?e'er|o'er|ev'ry){_END}",
        rf"(?i:'(?:em|till?|cause|n')|(?:cap|fo'c)'n|li'l|nat'l|ol'{_END}|nor'easter|(?:dunk|someth)in'|cont'd\.)",
        r"(?i:('t)(?:is|was))",
        r"'\d0[Ss]|'\d\d$",
        # Clitics and what stands before them.
        rf"(?i:({_L}*[a-mo-z])n't)",
        rf"(?i:n't{_L}*)",
        rf"({_PART}|{_DOTTED}|{_ACRONYM}){_CLITIC}",
        rf"{_CLITIC}(?!{_L})|'[Nn]$",
        rf"(?i:(y'){_L}+|[djl]')",
        # Words, numbers and what joins them.
        rf"((?:(?i:{_FIRM_ABBREVIATIONS})|(?=[A-Z])(?i:{_CAPITAL_ABBREVIATIONS})|{_SMALL_ABBREVIATIONS})\.)(?:-?{_A})?",
        _DOTTED,
        rf"{_PART}(?:-{_PART})*",
        rf"{_A}[A-Za-z0-9.,]{{0,200}}(?:-{_A}+)+",
        _ACRONYM,
        rf"(?:{_A}[A-Za-z0-9.,]{{0,200}}-)+(?:{_L}\.){{2,}}(?:-{_A}+)*",
        rf"{_SIDE}(?:\\?/{_SIDE}){{1,2}}",
        r"\d{1,4}-\d{1,4}\\?/\d{1,4}|\d\d?/\d\d?-\d{2,4}",
        rf"[+\-]?{_NUMBER}",
        rf"(?i:(?:{BEFORE_NUMBER})\.)(?=\d)",
        rf"(?i:(?:{_ABBREVIATIONS})\.)(?!{_L})",
        r"[A-Z]{1,2}\$",
        # Before a mark that goes on with the sentence a period belongs to the word.
        rf"({_PART}(?:-{_PART})*\.)[,;:]",
        r"[Cc]\+\+|[CcFf]#",
        rf"#{_L}+|@[A-Za-z_]\w*",
        # Marks.
        r"(?i:-[lr][rsc]b-)",
        rf"[:;=]-?'?[()DPpO|\[\]@{{\\]{_END}|>?:-?[()]{_END}|8-D{_END}|\^_\^|-_-|>_<",
        r"\.{3,5}|-+|[!?]+|\*+|_+|@+|#+|<<|>>|''|``|\\[*]",
        r"[\x21-\x7e]",
    )
]


def _read(text: str, place: int) -> tuple[tuple[str, ...], int]:
    """What stands at a place, and where the next token begins."""
    best, furthest = None, place
    for rule in _RULES:
        match = rule.match(text, place)
        if match and match.end() > furthest:
            best, furthest = match, match.end()
    assert best is not None, "the last rule reads any character"
    group = 1 if best.re.groups and best.group(1) is not None else 0
    token, end = best.group(group), best.end(group)
    # A word that was read with its clitic stays whole (`cannot 's`).
    return (_shape(token) if end == furthest else (token.lower(),)), end


def _shape(token: str) -> tuple[str, ...]:
    if token == "&quot;":
        return ("''",)
    token = token.lower()
    if token in _JOINED:
        return _JOINED[token]
    if token in _ENTITIES:
        return (_ENTITIES[token],)
    if len(token) == 1:
        return (_MARKS.get(token, token),)
    if token[0] in ":;=>8" and token[-1] in "()":
        return (token[:-1] + _MARKS[token[-1]],)
    if 2 <= len(token) <= 4 and not token.strip("-"):
        return ("--",)
    if not token.strip("."):
        return ("...",)
    # "AT&amp;T" is one word.
    return (token if "/" in token else token.replace("&amp;", "&"),)


def split(text: str) -> tuple[str, ...]:
    """Tokens of a piece of printable ASCII text without blanks, lower-cased, punctuation included.

    Args:
        text: the piece.

    Returns:
        Its tokens; brackets are written out (`-lrb-`); quotes keep their form where the original writes another one.
    """
    if text.isalpha():
        return _shape(text)
    text = text.replace("&apos;", "'")
    tokens: list[str] = []
    place = 0
    while place < len(text):
        found, place = _read(text, place)
        tokens.extend(found)
    return tuple(token for token in tokens if token)
