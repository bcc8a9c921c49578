from .record import Asked as Asked
from .record import AskedColumn as AskedColumn
from .store import Entry as Entry
from .store import History as History
