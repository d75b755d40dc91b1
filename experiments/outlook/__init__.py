"""The paper's last question: does a consensus that favours accurate participants beat Slush?"""
