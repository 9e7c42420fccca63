//! The flags of `klog cluster`.

use super::{Flag, Live, Verb, many, one, plain, plains, rest, switch};
use crate::cmd::cluster;

const NAME: Flag = one("name", "NAME", "Which cluster [default: KLOG_CLUSTER, else the only one, else dev]");
const CLUSTER: Flag = plain("cluster", "NAME", "Which cluster [default: KLOG_CLUSTER, else the only one, else dev]");
const NODES: Flag = plains("node", "N", "Nodes by their numbers");
const SET: Flag = many("set", "KEY=VALUE", "Set a broker key by Kafka's name, on every node");
const YES: Flag = switch("yes", "Do not ask").short('y');

pub const VERB: Verb = Verb {
    name: "cluster",
    about: "Run local clusters of real nodes, break them and mend them; look into any cluster",
    more: "",
    examples: &[
        ("klog cluster up -d", "three nodes in the background, for this machine"),
        ("klog cluster run -- ./my-tests.sh", "tests with a cluster of their own"),
        ("klog cluster kill 2", "what if node 2 crashes?"),
    ],
    flags: &[],
    verbs: &[
        UP,
        RUN,
        STATUS,
        KILL,
        PAUSE,
        RESUME,
        STOP,
        START,
        RESTART,
        ISOLATE,
        PARTITION,
        DELAY,
        HEAL,
        ADD,
        DECOMMISSION,
        LOGS,
        DOWN,
        RM,
        LIST,
        INFO,
        ELECT,
        QUORUM,
    ],
    run: None,
};

const UP: Verb = Verb {
    name: "up",
    about: "Start a local cluster, or what of it does not run",
    more: "Returns, or with no -d goes on to show what happens, once every node has acknowledged a record that all nodes hold. \
           Its brokers are written to stdout. Without -d, ^C takes the cluster down; a second one at once. The data stay either way, \
           and the next up goes on with them. If anything goes wrong at the start, all of it is undone.\n\n\
           The file of -f is YAML: name, nodes (a number, or a list of {id, port, settings}), port, data, settings (broker keys of every \
           node) and topics ({NAME: {partitions, replicas, configs}}). Flags win over it.",
    examples: &[
        ("klog cluster up -d", "three nodes at 127.0.0.1:9092, 9093 and 9094"),
        ("klog cluster up -n 5 --name big --port auto -d", "another cluster, on ports that are free"),
        ("klog cluster up -f cluster.yaml", "as the file says, in the foreground"),
    ],
    flags: &[
        one("nodes", "N", "How many nodes [default: those that there are, else 3]").short('n'),
        one("name", "NAME", "Its name [default: dev]"),
        one("data", "DIR", "Where the nodes' data folders are [default: $XDG_DATA_HOME/klog/clusters/NAME]").live(Live::Folders),
        one("port", "PORT|auto", "The port of the first node, the others follow; auto takes free ones [default: 9092]"),
        switch("detach", "Leave the nodes in the background").short('d'),
        one("file", "FILE", "Describe the cluster by a YAML file").short('f').live(Live::Files),
        SET,
    ],
    verbs: &[],
    run: Some(cluster::up::run),
};

const RUN: Verb = Verb {
    name: "run",
    about: "Run a command with a throw-away cluster",
    more: "Starts the nodes on free ports, waits until each has acknowledged a record, runs the command, and removes everything. \
           The command finds the brokers in KLOG_BROKERS and BOOTSTRAP_SERVERS, and klog itself first in its PATH; \
           klog cluster kill and the like act on this cluster, by KLOG_CLUSTER. \
           Its exit code is returned; 1 where it was 0 and a node died that nobody killed.",
    examples: &[
        ("klog cluster run -- ./my-tests.sh", "tests with brokers of their own"),
        ("klog cluster run -n 1 --set num.partitions=6 -- sh", "a shell with a broker"),
    ],
    flags: &[one("nodes", "N", "How many nodes [default: 3]").short('n'), SET, rest("command", "CMD", "The command and its arguments")],
    verbs: &[],
    run: Some(cluster::run::run),
};

const STATUS: Verb = Verb {
    name: "status",
    about: "Show the nodes of a local cluster",
    more: "The state of a node is running, paused, stopped, killed (by klog cluster kill) or died. Fails if a node died.",
    examples: &[],
    flags: &[CLUSTER, NAME, switch("watch", "Show it again every second")],
    verbs: &[],
    run: Some(cluster::status::run),
};

const KILL: Verb = Verb {
    name: "kill",
    about: "Kill nodes as a crash would (SIGKILL)",
    more: "",
    examples: &[],
    flags: &[NODES.required(), NAME],
    verbs: &[],
    run: Some(cluster::nodes::kill),
};

const PAUSE: Verb = Verb {
    name: "pause",
    about: "Let nodes stand still (SIGSTOP): silent, but not gone",
    more: "",
    examples: &[],
    flags: &[NODES.required(), NAME],
    verbs: &[],
    run: Some(cluster::nodes::pause),
};

const RESUME: Verb = Verb {
    name: "resume",
    about: "Let paused nodes go on",
    more: "",
    examples: &[],
    flags: &[NODES.required(), NAME],
    verbs: &[],
    run: Some(cluster::nodes::resume),
};

const STOP: Verb = Verb {
    name: "stop",
    about: "Stop nodes cleanly: they hand over what they lead first",
    more: "",
    examples: &[],
    flags: &[NODES.required(), NAME],
    verbs: &[],
    run: Some(cluster::nodes::stop),
};

const START: Verb = Verb {
    name: "start",
    about: "Start nodes that do not run, on the ports that they had",
    more: "Returns once they take records.",
    examples: &[],
    flags: &[NODES.required(), NAME],
    verbs: &[],
    run: Some(cluster::nodes::start),
};

const RESTART: Verb = Verb {
    name: "restart",
    about: "Stop nodes cleanly and start them again",
    more: "All of them where none is named. --rolling takes one after the other and waits in between until no partition lacks a replica.",
    examples: &[("klog cluster restart --rolling", "every node, while clients go on")],
    flags: &[NODES, NAME, switch("rolling", "One after the other")],
    verbs: &[],
    run: Some(cluster::nodes::restart),
};

const ISOLATE: Verb = Verb {
    name: "isolate",
    about: "Cut nodes off from all others",
    more: "Nothing passes in either direction and nothing is refused: to the others they are silent. klog cluster heal mends it.",
    examples: &[],
    flags: &[NODES.required(), NAME, switch("clients", "Cut them off from clients too")],
    verbs: &[],
    run: Some(cluster::faults::isolate),
};

const PARTITION: Verb = Verb {
    name: "partition",
    about: "Cut two sets of nodes off from each other",
    more: "",
    examples: &[("klog cluster partition 1 2,3", "node 1 on one side, 2 and 3 on the other")],
    flags: &[plain("one", "A", "Nodes of one side: 1 or 1,2").required(), plain("other", "B", "Nodes of the other side").required(), NAME],
    verbs: &[],
    run: Some(cluster::faults::partition),
};

const DELAY: Verb = Verb {
    name: "delay",
    about: "Let each message that a node sends to others wait",
    more: "0 takes the delay away.",
    examples: &[("klog cluster delay 2 50", "node 2 is 50 ms away")],
    flags: &[plain("node", "N", "The node").required(), plain("ms", "MS", "Milliseconds").required(), NAME],
    verbs: &[],
    run: Some(cluster::faults::delay),
};

const HEAL: Verb = Verb {
    name: "heal",
    about: "Take away what isolate, partition and delay did",
    more: "For all nodes where none is named.",
    examples: &[],
    flags: &[NODES, NAME],
    verbs: &[],
    run: Some(cluster::faults::heal),
};

const ADD: Verb = Verb {
    name: "add",
    about: "Add a node to a running cluster",
    more: "It follows the metadata without a vote. Partitions that are there stay where they are.",
    examples: &[],
    flags: &[NAME, one("port", "PORT|auto", "Its port [default: auto]")],
    verbs: &[],
    run: Some(cluster::members::add),
};

const DECOMMISSION: Verb = Verb {
    name: "decommission",
    about: "Move all partitions off a node, then take it out of the cluster for good",
    more: "Its data are removed in the end. Refused where the other nodes are too few for the replicas of a partition.",
    examples: &[],
    flags: &[plain("node", "N", "The node").required(), NAME, YES, switch("dry-run", "Only show what would move")],
    verbs: &[],
    run: Some(cluster::members::decommission),
};

const LOGS: Verb = Verb {
    name: "logs",
    about: "Show what nodes said",
    more: "",
    examples: &[("klog cluster logs 2 -f", "what node 2 says, as it says it")],
    flags: &[
        plains("node", "N", "Nodes by their numbers [default: all]"),
        NAME,
        switch("follow", "Go on with what comes").short('f'),
        one("tail", "LINES", "Only the last lines of each"),
    ],
    verbs: &[],
    run: Some(cluster::logs::run),
};

const DOWN: Verb = Verb {
    name: "down",
    about: "Stop all nodes of a local cluster; the data stay",
    more: "",
    examples: &[],
    flags: &[CLUSTER, NAME],
    verbs: &[],
    run: Some(cluster::end::down),
};

const RM: Verb = Verb {
    name: "rm",
    about: "Remove a local cluster with all its data",
    more: "Refused while a node of it runs.",
    examples: &[("klog cluster down && klog cluster rm -y", "stop it and forget it")],
    flags: &[CLUSTER, NAME, YES, switch("dry-run", "Only show what would be removed")],
    verbs: &[],
    run: Some(cluster::end::rm),
};

const LIST: Verb =
    Verb { name: "list", about: "List local clusters", more: "", examples: &[], flags: &[], verbs: &[], run: Some(cluster::end::list) };

const INFO: Verb = Verb {
    name: "info",
    about: "Show what any cluster is: brokers, controller, quorum, features, APIs",
    more: "",
    examples: &[("klog cluster info -b kafka.example:9092", "of an Apache Kafka cluster")],
    flags: &[switch("apis", "The versions of every request that each broker takes, too")],
    verbs: &[],
    run: Some(cluster::ask::info),
};

const ELECT: Verb = Verb {
    name: "elect",
    about: "Have the preferred replica of partitions lead them again",
    more: "All partitions where no topic is named.",
    examples: &[("klog cluster elect orders:0,1", "two partitions of one topic")],
    flags: &[
        plains("topic", "TOPIC[:N,…]", "Topics, or partitions of them").live(Live::Topics),
        switch("unclean", "Let a replica that is not in sync lead where no other lives: acknowledged records may be lost"),
        YES,
    ],
    verbs: &[],
    run: Some(cluster::ask::elect),
};

const QUORUM: Verb = Verb {
    name: "quorum",
    about: "Show the quorum that holds the metadata of any cluster",
    more: "",
    examples: &[],
    flags: &[],
    verbs: &[],
    run: Some(cluster::ask::quorum),
};
