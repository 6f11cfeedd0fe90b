from .background import Background as Background
from .finding import People as People
from .finding import check_count as check_count
from .finding import find_people as find_people
from .sizes import PersonSize as PersonSize
from .sizes import measure_people as measure_people
from .tracks import PeopleTracker as PeopleTracker
