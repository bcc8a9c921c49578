import pytest

from rag_core.safety.urgency.helplines import countries, helplines, urgent_notice
from rag_core.safety.urgency.triage import triage
from rag_core.values.errors import SettingsError
from rag_core.values.triage import Triage

NO_WISH_TO_LIVE = "Desde que nació mi bebé lloro todo el día y no quiero vivir"


def test_a_country_is_chosen_by_its_code():
    spain = helplines("es")
    assert (spain.code, spain.emergency, spain.crisis, spain.violence) == ("ES", "112", "024", "016")
    assert countries("es")["ES"] == "España"


def test_no_country_has_no_numbers():
    assert helplines("") is None


def test_a_country_without_numbers_is_an_error_that_lists_the_others():
    with pytest.raises(SettingsError, match="RAG_COUNTRY") as error:
        helplines("XX")
    assert "ES" in error.value.next_step


def test_a_routine_question_has_no_notice():
    assert urgent_notice(Triage("routine"), None) is None


def test_thoughts_of_suicide_name_the_crisis_line_before_the_emergency_number():
    found = urgent_notice(triage(NO_WISH_TO_LIVE), helplines("ES"))
    assert found.title == "Puede ser una emergencia."
    assert found.numbers == ("Línea de crisis: 024.", "Emergencias en España: 112.")


def test_a_country_without_its_own_line_shows_its_emergency_number():
    found = urgent_notice(triage("mi pareja me pegó en la barriga, tengo 5 meses"), helplines("MX"))
    assert found.numbers == ("Emergencias en México: 911.",)


def test_an_urgent_wording_without_a_known_sign_says_so():
    found = urgent_notice(Triage("emergency", action="Go now.", language="en"), None)
    assert found.reason.startswith("No single sign was recognised")
