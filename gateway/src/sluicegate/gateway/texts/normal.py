"""One way to write what can be written in several: width, spaces, invisible marks, a few traditional characters."""

import re
import unicodedata

_INVISIBLE = {
    code: None
    for first, last in ((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x2069), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF))
    for code in range(first, last + 1)
} | {0xE000: None, 0xE001: None}  # fmt: skip
_FORMS = """
絕绝 敗败 無无 沒没 別别 過过 貨货 關关 啟启 開开 錯错 誤误 後后 點点 時时 週周 個个 錢钱 塊块 歐欧 鎊镑 幣币 應应 驗验 證证 認认 訂订 單单 貳贰 參参 萬万 億亿 兩两 並并
絡络 號号 項项 歲岁 還还 從从 發发 選选 務务 準准 許许 嚴严 駁驳 優优 貴贵 減减 漲涨 調调 購购 買买 賣卖 須须 營营 業业 門门 閉闭 啓启 費费 遲迟 贊赞 總总 請请 協协 處处
滿满 護护 議议 張张 筆笔 層层 種种 隻只 輛辆 間间 顆颗 鐘钟 禮礼 來来 為为 終终 審审 顯显 檔档 對对 問问 題题 夠够 剛刚 遠远 現现 實实 際际 權权 達达
"""
_SIMPLIFIED = {ord(pair[0]): pair[1] for pair in _FORMS.split()}
_TYPOGRAPHIC = str.maketrans("’‘‛`´“”„、。！？；：，（）", "'''''\"\"\",.!?;:,()")
_HAN = re.compile(r"[\u3400-\u9fff]")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MIN_SPACES = 3
_MIN_CJK = 8
_MIN_MIXED = 12


def normal(text: str) -> str:
    """NFKC (so that ４５ is 45 and ， is a comma), without invisible marks, white space collapsed."""
    if text.isascii():
        return " ".join(text.split())
    plain = unicodedata.normalize("NFKC", text.translate(_INVISIBLE)).translate(_TYPOGRAPHIC)
    return " ".join(plain.translate(_SIMPLIFIED).split())


def has_han(text: str) -> bool:
    """Whether there are Chinese characters."""
    return not text.isascii() and _HAN.search(text) is not None


def is_free_text(text: str) -> bool:
    """Four words or more; scripts without spaces count by characters."""
    if text.count(" ") >= _MIN_SPACES:
        return True
    characters = 0 if text.isascii() else len(_CJK.findall(text))
    return characters >= _MIN_CJK or (2 * characters >= _MIN_CJK and len(text) >= _MIN_MIXED)
