package mutant

// Mutant is a known defect.
type Mutant struct {
	Name   string
	Breaks string // what it breaks, in a few words
}

// List names all defects, by what they are in.
var List = []Mutant{
	// What members of a view agree on.
	{"no-quorum", "any set of members decides for the view"},
	{"tie-always", "half of the weights decides, and nobody is certified dead"},
	{"discount-unread", "a dead member is discounted though its row was not read"},
	{"one-accept", "a decision needs one member that has accepted, not a quorum"},
	{"accept-one-block", "a member that dies while it accepts loses what it had accepted"},
	{"torn-block", "a block counts as soon as its version in front is there"},
	{"block-end-first", "a block's version behind is stored before its values"},
	{"propose-unpromised", "a proposer does not wait for promises"},
	{"ignore-accepted", "a proposer ignores what was accepted before"},
	{"adopt-own-only", "a proposer looks for accepted values in its own row only"},
	{"lowest-accepted", "a proposer takes what was accepted first, not last"},
	{"no-takeover", "nobody takes the place of a proposer that dies"},
	{"promise-unwedged", "a member promises without wedging, and does not wedge when another does"},
	{"ack-wedged", "a member acknowledges after it has wedged"},
	{"accept-below-promise", "a member accepts a ballot below what it promised"},
	{"end-own", "commands end at what the proposer has"},
	{"whole-removes", "members are removed from a view that ended by itself"},
	{"deaf", "a member does not learn from the next view how its own ended"},
	{"missed-whole", "a member does not see that another has delivered all of the view"},
	{"dead-agree", "the dead count as if they agreed"},
	{"witness-twice", "the witness counts twice among those who agree, and once among all"},
	{"no-exclusion", "a member that was removed goes on"},
	{"no-suspicion", "silence is never taken for failure"},

	// What follows from it.
	{"trim-own", "a sender that failed ends at what the node itself has"},
	{"trim-first", "it ends at the least that was reported so far"},
	{"trim-late", "a node takes more of it after it has reported"},
	{"trim-unpolled", "a node reports what it had seen, not what is there"},
	{"trim-waits-for-dead", "reports of the dead are waited for"},
	{"trim-none", "nobody reports"},
	{"trailing-null", "an epoch never ends whose last index is a null"},
	{"lose-unexecuted", "commands that were cut off are not sent again"},
	{"repeat-executed", "commands that were executed are sent again"},
	{"no-resource", "a state is not asked for again when its source has failed"},
	{"welcome-early", "who joins is told of the catalogue before the failed were removed"},
	{"welcome-wrong-view", "who joins is told of the view before"},
	{"forget-welcome", "who joins hangs if whom it asked has only welcomed another"},
	{"greet-asked-only", "who joins hangs if whom it asked died and all others leave"},
	{"no-second-welcome", "who joins hangs if whom it asked fails"},

	// One host.
	{"no-fence", "a survivor does not raise the fences"},
	{"fence-ignored", "a node delivers in spite of its fence"},
	{"stable-unpassed", "what was read behind a raised fence counts as stable when the fence is lowered"},
	{"fence-not-on-links", "a link sends in spite of the fence"},
	{"fence-lowered-early", "a node lowers its fence before it can read all rows on its host"},
	{"no-holding", "data is delivered between the decision and the next view"},
	{"open-unwaited", "a node delivers before all can read all rows"},
	{"control-unacked", "commands are not acknowledged on one host"},

	// Epochs.
	{"close-unflushed", "a sender that closes does not publish that it did: the missing flush"},
	{"drain-early", "an epoch ends with messages in it: they are lost"},
	{"release-early", "an epoch is given up before all have drained it: the missing barrier"},
	{"unread-forever", "a member waits for ever for a row that it has not read and whose owner has given it up"},
	{"stale-info", "who joins is told of endpoints as they were before they changed"},
	{"show-unreached", "a node is told of a reader that what it writes does not reach yet"},
	{"answer-early", "a reader counts as announced before what others write reaches it"},
	{"meet-late", "messages of a writer come before the layer above is told of it"},
	{"epochs-overlap", "a new epoch delivers before the old one has ended"},
	{"disturb-others", "subgroups without the failed begin an epoch, too"},
	{"leave-early", "a node that leaves does not wait until the others have what they need of it"},
	{"transfer-late", "a state is taken after the epoch has begun"},
	{"transfer-unloaded", "a state is handed on before it has come"},
	{"load-any-epoch", "a state is taken for that of another epoch"},

	// Logs, and restart from them.
	{"log-unsynced", "what is appended counts as stored before it is on disk"},
	{"told-uncounted", "what is stored and does not count in the log yet is told to be stored"},
	{"bereft-holds", "the log is held for a channel whose state nobody has, so no epoch with it ends"},
	{"bereft-told", "what came of a channel that nobody had is told to be stored though the channel went on from elsewhere"},
	{"drain-unlogged", "an epoch ends before its messages are on disk"},
	{"log-unpaused", "a log takes what follows a state that has not come"},
	{"state-unlogged", "a state that came is not written to the log"},
	{"state-truncated", "a state is sent without what is in it"},
	{"recover-never", "logs are waited for though all are there that are needed"},
	{"recover-first", "the log that comes first counts, not the longest"},
	{"recover-by-length", "the log with the highest position counts, of whichever epoch"},
	{"virgin-evidence", "a log that did not belong to the last epoch helps to a majority"},
	{"hurry-any", "a minority of the logs is enough after a while"},
	{"late-returner", "who comes late with a log undoes what was done without it"},
	{"epochs-by-number", "of two epochs that logs know that with the higher number counts as the last, and either if they have the same"},
	{"log-channels-alike", "a log that took part in an epoch for one channel counts as if it had all others, too"},
	{"history-lost", "a log with another history of a channel is given that of the members"},
	{"log-unannounced", "a node writes to its log what it receives of channels that it keeps no log of"},
	{"log-starts-empty", "a log that begins where the channel was kept in memory is not given the state"},
	{"memory-first", "who keeps a channel in memory gives its state to the first log that comes, whatever that holds"},
	{"unstored-counts", "a state that has come and is not on disk counts as if it were"},
	{"loaded-unstored", "a node tells that it has a state before the state is on disk"},
	{"unheard-lost", "a log is not asked whose node was not heard to have got the state, when it failed with those that had it"},
	{"announce-unbegun", "a log is announced while it has not written yet that a channel began in it"},
	{"restart-epochs", "epochs begin anew after a restart, so that positions in logs can not be compared"},
	{"copied-unnoticed", "a log that another node has is taken as one more"},
	{"bereft-goes-on", "nobody looks for logs when the last that had the state have failed"},

	// Order and stability.
	{"unstable", "a message is delivered before all have it"},
	{"order-by-rank", "messages are delivered by sender, not by index"},
	{"promise-plus-one", "a null more than needed"},
	{"promise-on-promise", "promises call forth promises"},
	{"no-promise", "an idle sender promises nothing"},
	{"index-promised", "a message gets an index that was promised away"},
	{"ring-overrun", "room in the ring is free when it is published"},
	{"free-lent", "room in the ring is free though a message in it is lent"},
	{"ring-one-receiver", "room in the ring is free when one receiver has handed it over"},

	// Links.
	{"link-reorders", "things overtake each other on a link"},
	{"counters-before-bytes", "counters arrive before the bytes that they cover: guard and data in one push"},
	{"cells-descend", "the cells of a row arrive from the back to the front: guards before what they guard"},
	{"capture-forgets", "a capture that the fence held back is not sent later"},
}
