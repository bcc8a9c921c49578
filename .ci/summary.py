"""Print the failing tests of a JUnit report, and its ten slowest."""

import sys
import xml.etree.ElementTree as ET

cases = ET.parse(sys.argv[1]).getroot().findall(".//testcase")
names = {case: f"{case.get('classname')}::{case.get('name')}" for case in cases}
failing = sorted({names[case] for case in cases if case.find("failure") is not None or case.find("error") is not None})
slowest = sorted(cases, key=lambda case: float(case.get("time", 0)), reverse=True)[:10]
print("\nThe ten slowest:")
for case in slowest:
    print(f"{float(case.get('time', 0)):7.1f} s  {names[case]}")
print(f"\n{len(failing)} of {len(set(names.values()))} tests fail" + (":" if failing else "."))
for name in failing:
    print(f"  {name}")
