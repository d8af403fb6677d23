"""Forms of rows that hold limits: bounds are told at the field, in words."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms
from django.core.validators import MinValueValidator

SMALLEST = 1e-6
"""What stands for "above zero" in a form."""


class LimitsForm(forms.ModelForm):
    """`least` is the smallest value of each field."""

    least: ClassVar[Mapping[str, float]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, least in self.least.items():
            if name in self.fields:
                text = "Must be above 0." if least == SMALLEST else f"Must be {least:g} or more."
                self.fields[name].validators.append(MinValueValidator(least, text))
