"""Words that come in opposites, in both languages; a negated one counts as its opposite.

Two kinds of axes. Hard: what one text says and the other leaves out is a difference (approved, refused, cancelled).
Soft: only opposites differ, since many words say the same (available, on hand, ready).
"""

from typing import Final, NamedTuple

HARD: Final = frozenset({"approve", "permit", "cancel", "refusal"})


class Word(NamedTuple):
    """A pole of an axis."""

    axis: str
    pole: bool


_ENGLISH = {
    "approve": (
        "approve approved approves accept accepted accepts authorised authorized grant granted grants eligible qualifies",
        "decline declined declines reject rejected rejects refuse refused refuses deny denied denies ineligible",
    ),
    "permit": ("allow allowed allows permit permitted permits", "forbid forbidden prohibit prohibited disallowed banned"),
    "cancel": ("cancel canceled cancelled cancels cancelling canceling cancellation", ""),
    "success": (
        "success successful successfully succeed succeeded succeeds",
        "fail failed fails failing failure unsuccessful unsuccessfully",
    ),
    "available": ("available", "unavailable"),
    "valid": ("valid", "invalid expired"),
    "active": (
        "active activate activated enable enabled enables",
        "inactive deactivate deactivated disable disabled disables",
    ),
    "open": ("open opens opened reopened", "close closes closed"),
    "required": ("required mandatory compulsory", "optional"),
    "included": ("include includes included including", "exclude excludes excluded excluding"),
    "paid": ("paid", "unpaid overdue outstanding"),
    "safe": ("safe", "unsafe dangerous"),
    "correct": ("correct accurate", "incorrect wrong inaccurate"),
    "increase": ("increase increased increases higher raise raised rose", "decrease decreased decreases lower lowered reduce reduced fell"),
    "refund": ("refund refunded refunds refunding", "charge charged charges charging"),
    "trade": ("buy buys bought purchase purchased", "sell sells sold"),
    "connected": ("connect connected", "disconnect disconnected"),
    "possible": ("possible", "impossible"),
    "side": ("left", "right"),
    "party": ("buyer buyers recipient receiver", "seller sellers sender"),
    "size": ("largest biggest highest longest latest maximum", "smallest lowest shortest earliest minimum"),
    "price": ("cheaper cheapest", "expensive"),
    "heat": ("hot warm", "cold"),
    "pace": ("fast faster quick quicker", "slow slower"),
    "complete": ("complete completed completes", "incomplete"),
}  # fmt: skip
_CHINESE = {
    "approve": ("同意 批准 审核通过 审批通过 验证通过 申请通过 已通过 已经通过 获批 接受 核准 受理", "拒绝 驳回 婉拒 否决 回绝"),
    "permit": ("允许 准许 许可", "禁止 严禁 不准 不许"),
    "cancel": ("取消 撤销", ""),
    "success": ("成功", "失败 出错"),
    "available": ("有货 现货 可用", "缺货 售罄 断货 无货"),
    "valid": ("有效", "无效 失效 过期 作废"),
    "active": ("启用 开启 激活 开通", "停用 关闭 禁用 停机"),
    "open": ("营业 开门", "打烊 关门 停业 歇业"),
    "required": ("必须 必填 必需 务必", "可选 选填"),
    "included": ("包含 包括 含有 含", ""),
    "paid": ("已付 已支付 付清", "未付 欠费 逾期"),
    "safe": ("安全", "危险"),
    "correct": ("正确 准确", "错误 有误"),
    "increase": ("增加 提高 上涨 上调 升高 上升", "减少 降低 下降 下调 下跌"),
    "refund": ("退款 退还 退回", "扣款 收取 扣除 扣费"),
    "trade": ("购买 买入", "卖出 出售 售出"),
    "complete": ("完成", "未完"),
    "side": ("左", "右"),
    "party": ("买家 买方 收件人 收货人", "卖家 卖方 寄件人 发货人"),
    "size": ("最大 最高 最长 最晚 最贵", "最小 最低 最短 最早 最便宜"),
    "span": ("全部 全额", "部分"),
}  # fmt: skip


def _by_word(table: dict[str, tuple[str, str]]) -> dict[str, Word]:
    return {
        word: Word(axis, pole)
        for axis, poles in table.items()
        for pole, words in zip((True, False), poles, strict=True)
        for word in words.split()
    }


ENGLISH: Final = _by_word(_ENGLISH)
CHINESE: Final = _by_word(_CHINESE)


def differ(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two texts take different sides, by `axis+` and `axis-`."""
    sides, others = _sides(one), _sides(other)
    return any(
        sides.get(axis) != others.get(axis) and (axis in HARD or (axis in sides and axis in others))
        for axis in {*sides, *others}
    )


def _sides(words: frozenset[str]) -> dict[str, set[str]]:
    sides: dict[str, set[str]] = {}
    for word in words:
        sides.setdefault(word[:-1], set()).add(word[-1])
    return sides
