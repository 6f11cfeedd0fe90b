from .devices import find_sensor as find_sensor
from .models import Sensed as Sensed
from .sensing import sense as sense
