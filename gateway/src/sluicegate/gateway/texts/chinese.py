"""Negation and polarity in Chinese text (simplified; `normal` has turned the traditional forms of these words)."""

import re

from sluicegate.gateway.texts.polarity import CHINESE

_NEGATION = r"除非|没有|没能|没办法|未能|尚未|还未|无法|无须|无需|不能|不会|不予|不可(?!用)|不要|不得|不再|不是|并非|绝非|而非|不|没|未|无|别|勿|莫"
_NEUTRAL = re.compile(
    r"不好意思|不客气|没问题|没关系|没事|不用谢|不用担心|不必担心|别担心|请勿担心|不仅|不但|不光|不只|不过|不同|不久|不断|不管|不论|无论|不妨|不错|不时|"
    r"不得不|必不可少|不可或缺|差不多|毫不犹豫|不便之处|特别|别人|别的|别处|分别|区别|级别|性别|类别|个别|告别|识别|鉴别|辨别|差别|别墅|未来|无线|无人机|"
    r"无忧|无比|无疑|是不是|能不能|可不可以|要不要|有没有|会不会|是否|不然|要不|对不起|不足之处"
)  # fmt: skip
_BOUNDS = (
    (re.compile(r"至少|不少于|不低于|不小于|最少|起码"), "bound+"),
    (re.compile(r"至多|最多|不超过|不高于|不大于|不多于|以内"), "bound-"),
    (re.compile(r"(?:高于|超过|大于|多于)"), "compare+"),
    (re.compile(r"(?:低于|少于|小于|不足|不到|不满)(?=[¥$]?\d)"), "compare-"),
)
_MOMENT = r"(?:[\d日号天点时年月周分]|星期[一二三四五六日天]|周[一二三四五六日天]|小时|分钟|工作日)"
_WHEN = (
    (re.compile(rf"{_MOMENT}(?:之前|以前|前)"), "time+"),
    (re.compile(rf"{_MOMENT}(?:之后|以后|后)"), "time-"),
)
_REFUSAL = re.compile(
    r"(?:抱歉|对不起|遗憾|不好意思|恕)[^。.!?]{0,30}(?:无法|不能|没办法|没有办法|不便|不可以|无权|帮不了|难以)|"
    r"(?:我们?|本人|本店|小助手)(?:暂时|目前|现在)?(?:无法|不能|没办法|不便|无权)(?:为您|帮您|给您|向您|替您)?(?:提供|回答|协助|处理|满足|透露|帮|办理|完成|讨论)|"
    r"(?:作为|身为)(?:一[个款名])?(?:AI|人工智能|语言模型|智能助手)"
)
_SAID = re.compile(f"({'|'.join(sorted(CHINESE, key=len, reverse=True))})|({_NEGATION})|([,.;:!?]|但|而)")
_REACH = 4
"""A negation reaches so many characters: `没有被我们批准`."""


def said(text: str) -> tuple[int, set[str]]:
    """How often something is negated, and the sides taken (`approve+`, `cancel-`)."""
    sides: set[str] = set()
    if _REFUSAL.search(text):
        sides.add("refusal+")
    sides.update(side for pattern, side in _WHEN if pattern.search(text))
    text = _NEUTRAL.sub(",", text)
    for pattern, side in _BOUNDS:
        text, bounds = pattern.subn(",", text)
        if bounds:
            sides.add(side)
    negations, reaches = 0, -1  # the last character to which a negation reaches
    for found in _SAID.finditer(text):
        if found[1]:
            word, is_negated = CHINESE[found[1]], found.start() <= reaches
            negations -= is_negated
            sides.add(word.axis + ("+" if word.pole is not is_negated else "-"))
        negations += found[2] is not None
        reaches = found.end() + _REACH - 1 if found[2] else -1
    return negations, sides
