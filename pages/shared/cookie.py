"""The cookie that names a visitor."""

COOKIE = "visitor"  # set with the page's document: a reload must not renew a budget
