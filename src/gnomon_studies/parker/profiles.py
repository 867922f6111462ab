"""The profiles that were published of DIRT: 32 worker nodes with one renderer each."""

from __future__ import annotations

from gnomon.analysis.accounting import Entry

NODES, FRAMES, MISSES, ASSIGNMENTS = 32, 110, 289719, 14081
TASKS = 12430
"""Task messages that a node's communicator handled."""

_RENDERER = """
run,.639,1,compute;Context,.000512,14081,compute;popTask,.0170,14081,compute
tasksemavail down,32.6,14081,balance;tasksemaccess down,.00681,14081,compute
tasksemaccess up,.0169,14081,compute;makeRay,.300,3604480,compute;traceRay,.304,3604480,compute
intersect,1.15,3604480,compute;getvolumeDpy,.0269,3051845,compute;isect,4.65,5793250,compute
getrhos_many,6.57,992353,compute;get_data,1.58,2663267,compute;get_access,1.99,2579696,compute
release_access,.197,289719,compute;get_sole_access,.0742,289719,compute
release_sole_access,.182,289719,compute;send_msg,4.57,289719,messages;cache down,130,289719,messages
release_retain,.258,289719,compute;release_data,1.84,2663267,compute;HitCell,.602,871690,compute
GradientCell,.0355,341814,compute;shade,.110,341814,compute;get_bgcolor,.0162,3262666,compute
pack_pixel,.151,3604480,compute;send_buffs,.392,14080,messages
"""
_COMMUNICATOR = """
group handle,.381,579438,miss;group recv,1.94,579438,messages;direct handle,.573,579438,miss
direct recv,4.09,869158,messages;direct send,12.9,289719,messages;get_sole_access,.131,289719,miss
sem2 up,2.65,289719,wake;TaskManager,.0315,12430,task;getAssignment,.00776,12430,task
TaskState recv,.0521,12430,messages;pushTask,.0311,12430,task;tasksemaccess down,.00601,12430,task
tasksemavail up,.0169,14080,wake;tasksemaccess up,.0149,12430,task;ViewManager,.00194,113,frame
getframe,.000754,111,frame;get_state,.000193,111,frame;get_state recv,.000732,222,messages
setVolumeDpy,.000043,111,frame;animate,.000023,111,frame;set_eye,.000031,111,frame
set_lookat,.000035,111,frame;set_fov,.000025,111,frame;set_up,.000025,111,frame
setup,.000155,111,frame;currentSeconds,.000086,111,frame;endframe,.00304,111,frame
"""


def _entries(text: str) -> tuple[Entry, ...]:
    rows = (row.split(",") for row in text.replace("\n", ";").split(";") if row)
    return tuple(Entry(name, float(time), int(calls), what) for name, time, calls, what in rows)


RENDERER = _entries(_RENDERER)
"""Table 6: own times in seconds, mean over the nodes."""
COMMUNICATOR = _entries(_COMMUNICATOR)
"""Table 8, with computation told apart by what it is for."""
TREE = {
    ("getrhos_many",): (992353, 149.679501),
    ("getrhos_many", "get_data"): (2663267, 140.736236),
    ("getrhos_many", "release_data"): (2663267, 2.035036),
    ("getrhos_many", "get_data", "get_access"): (2579696, 2.140364),
    ("getrhos_many", "get_data", "release_access"): (289719, 0.214406),
    ("getrhos_many", "get_data", "get_sole_access"): (289719, 0.080460),
    ("getrhos_many", "get_data", "release_sole_access"): (289719, 0.198639),
    ("getrhos_many", "get_data", "send_msg"): (289719, 3.481132),
    ("getrhos_many", "get_data", "cache down"): (289719, 132.520182),
    ("getrhos_many", "get_data", "release_retain"): (289719, 0.289839),
}
"""Inclusive seconds on node 1, figures 27 and 28; numbers of calls are means over the nodes."""
