# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_klog_global_optspecs
    string join \n help-json b/brokers= X/property= profile= json no-headers q/quiet v/verbose h/help V/version
end

function __fish_klog_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_klog_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_klog_using_subcommand
    set -l cmd (__fish_klog_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c klog -n "__fish_klog_needs_command" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_needs_command" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_needs_command" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_needs_command" -l help-json -d 'Print all verbs and flags as JSON'
complete -c klog -n "__fish_klog_needs_command" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_needs_command" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_needs_command" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_needs_command" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_needs_command" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_needs_command" -s V -l version -d 'Print version'
complete -c klog -n "__fish_klog_needs_command" -f -a "serve" -d 'Run one node'
complete -c klog -n "__fish_klog_needs_command" -f -a "produce" -d 'Store records: lines of stdin or of files'
complete -c klog -n "__fish_klog_needs_command" -f -a "consume" -d 'Read records, and follow what comes'
complete -c klog -n "__fish_klog_needs_command" -f -a "topic" -d 'Make, show, change and delete topics'
complete -c klog -n "__fish_klog_needs_command" -f -a "group" -d 'Show consumer groups, and move or delete what they committed'
complete -c klog -n "__fish_klog_needs_command" -f -a "cluster" -d 'Run local clusters of real nodes, break them and mend them; look into any cluster'
complete -c klog -n "__fish_klog_needs_command" -f -a "top" -d 'Watch a cluster: what comes in, who is behind, who leads, which nodes run'
complete -c klog -n "__fish_klog_needs_command" -f -a "config" -d 'Show and change the settings of brokers'
complete -c klog -n "__fish_klog_needs_command" -f -a "mirror" -d 'Copy topics, settings, records and the positions of groups to another cluster'
complete -c klog -n "__fish_klog_needs_command" -f -a "bench" -d 'Measure brokers: records in, records out, and how long they take'
complete -c klog -n "__fish_klog_needs_command" -f -a "log" -d 'Look at the files of logs, and mend them, while no broker runs on them'
complete -c klog -n "__fish_klog_needs_command" -f -a "profile" -d 'Keep brokers and client properties under a name'
complete -c klog -n "__fish_klog_needs_command" -f -a "completions" -d 'Write the completion script of a shell'
complete -c klog -n "__fish_klog_needs_command" -f -a "links" -d 'Make links named klog-VERB that are the verbs'
complete -c klog -n "__fish_klog_needs_command" -f -a "man" -d 'Write the man pages into a folder'
complete -c klog -n "__fish_klog_using_subcommand serve" -s c -l config -d 'Read settings from a YAML file: `listen`, `data` and the like, and Kafka\'s broker keys' -r
complete -c klog -n "__fish_klog_using_subcommand serve" -l set -d 'Set a broker key by Kafka\'s name, over the file' -r
complete -c klog -n "__fish_klog_using_subcommand serve" -l node-id -d 'This node\'s id [default: 1]' -r
complete -c klog -n "__fish_klog_using_subcommand serve" -l listen -d 'Where clients connect; port 0 takes a free one [default: 127.0.0.1:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand serve" -l advertise -d 'The address told to clients [default: the one each client reached]' -r
complete -c klog -n "__fish_klog_using_subcommand serve" -l internal-listen -d 'Where the other nodes of its cluster connect' -r
complete -c klog -n "__fish_klog_using_subcommand serve" -l peers -d 'The 1, 3 or 5 nodes that elect the controller, and where each listens for other nodes' -r
complete -c klog -n "__fish_klog_using_subcommand serve" -l data -d 'Where the data is kept [default: ./klog-data]' -r
complete -c klog -n "__fish_klog_using_subcommand serve" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand serve" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand serve" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand serve" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand serve" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand serve" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand serve" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand serve" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand produce" -s t -l topic -d 'The topic' -r
complete -c klog -n "__fish_klog_using_subcommand produce" -s k -l key -d 'The key of every record' -r
complete -c klog -n "__fish_klog_using_subcommand produce" -s K -l key-delimiter -d 'A line is key, DELIM, value' -r
complete -c klog -n "__fish_klog_using_subcommand produce" -s D -l delimiter -d 'What ends a record [default: \\n]' -r
complete -c klog -n "__fish_klog_using_subcommand produce" -s H -l header -d 'A header of every record; NAME alone is null, NAME= is empty' -r
complete -c klog -n "__fish_klog_using_subcommand produce" -s p -l partition -d 'The partition of every record' -r
complete -c klog -n "__fish_klog_using_subcommand produce" -l partitioner -d 'Who chooses the partition [default: murmur2, as Java does]' -r -f -a "murmur2\t''
consistent\t''
random\t''
sticky\t''"
complete -c klog -n "__fish_klog_using_subcommand produce" -s z -l compression -d 'none, gzip, snappy, lz4 or zstd, with :LEVEL for gzip and zstd' -r
complete -c klog -n "__fish_klog_using_subcommand produce" -l acks -d 'Who has to have a record before it counts [default: all]' -r -f -a "0\t''
1\t''
all\t''"
complete -c klog -n "__fish_klog_using_subcommand produce" -s l -l lines -d 'Lines of these files' -r
complete -c klog -n "__fish_klog_using_subcommand produce" -l whole -d 'Each of these files is one record; without FILE all of stdin is one' -r
complete -c klog -n "__fish_klog_using_subcommand produce" -s f -l format -d 'The input has this format' -r
complete -c klog -n "__fish_klog_using_subcommand produce" -l timestamp -d 'The time of every record: RFC 3339, a date, epoch ms or a duration back such as -1h' -r
complete -c klog -n "__fish_klog_using_subcommand produce" -l rate -d 'At most so many records a second' -r
complete -c klog -n "__fish_klog_using_subcommand produce" -l create -d 'Make the topic first if it is not there' -r
complete -c klog -n "__fish_klog_using_subcommand produce" -l failed -d 'Write records that were not stored here as JSON lines, with line number and reason' -r
complete -c klog -n "__fish_klog_using_subcommand produce" -l report -d 'Write where each record was stored: %t %p %o %i (its number) %T %d' -r
complete -c klog -n "__fish_klog_using_subcommand produce" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand produce" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand produce" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand produce" -s Z -l null -d 'An empty value is null'
complete -c klog -n "__fish_klog_using_subcommand produce" -s J -l json-lines -d 'The input is JSON lines as klog consume -J writes them'
complete -c klog -n "__fish_klog_using_subcommand produce" -s T -l tee -d 'Write the values to stdout as well'
complete -c klog -n "__fish_klog_using_subcommand produce" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand produce" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand produce" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand produce" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand produce" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand consume" -s t -l topic -d 'A topic' -r
complete -c klog -n "__fish_klog_using_subcommand consume" -s p -l partitions -d 'Only these partitions: 0,1,5-7' -r
complete -c klog -n "__fish_klog_using_subcommand consume" -s g -l group -d 'As a member of this consumer group' -r
complete -c klog -n "__fish_klog_using_subcommand consume" -l protocol -d 'The group\'s protocol' -r -f -a "classic\t''"
complete -c klog -n "__fish_klog_using_subcommand consume" -l instance-id -d 'A static member of the group, which may come back without a rebalance' -r
complete -c klog -n "__fish_klog_using_subcommand consume" -s o -l offset -d 'From where, and up to where [default: start; in a group: stored]' -r
complete -c klog -n "__fish_klog_using_subcommand consume" -s c -l count -d 'Stop after so many records' -r
complete -c klog -n "__fish_klog_using_subcommand consume" -l tail -d 'Begin with the last N records of all partitions together, by time' -r
complete -c klog -n "__fish_klog_using_subcommand consume" -l order -d 'time merges the partitions by timestamp [default: as they come]' -r -f -a "time\t''"
complete -c klog -n "__fish_klog_using_subcommand consume" -s f -l format -d 'Write records in this format' -r
complete -c klog -n "__fish_klog_using_subcommand consume" -l value -d 'How JSON lines show values [default: text]' -r -f -a "text\t''
json\t''"
complete -c klog -n "__fish_klog_using_subcommand consume" -s K -l key-delimiter -d 'Write key, DELIM, value' -r
complete -c klog -n "__fish_klog_using_subcommand consume" -s D -l delimiter -d 'What follows a record [default: \\n]' -r
complete -c klog -n "__fish_klog_using_subcommand consume" -l grep -d 'Only records with a key (k:), value (v:) or header (h:NAME:) like this; ! before it negates' -r
complete -c klog -n "__fish_klog_using_subcommand consume" -l isolation -d 'Whether records of open and aborted transactions show [default: committed]' -r -f -a "committed\t''
uncommitted\t''"
complete -c klog -n "__fish_klog_using_subcommand consume" -l timeout -d 'Stop when nothing came for so long, such as 10s' -r
complete -c klog -n "__fish_klog_using_subcommand consume" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand consume" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand consume" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand consume" -s r -l regex -d 'Topics are regular expressions, each matching a whole name'
complete -c klog -n "__fish_klog_using_subcommand consume" -s e -l exit -d 'Stop at the ends that partitions have now'
complete -c klog -n "__fish_klog_using_subcommand consume" -s J -l json-lines -d 'Write JSON lines'
complete -c klog -n "__fish_klog_using_subcommand consume" -s Z -l null -d 'Write NULL for null'
complete -c klog -n "__fish_klog_using_subcommand consume" -l control -d 'Show the markers at the ends of transactions, too'
complete -c klog -n "__fish_klog_using_subcommand consume" -l raw -d 'Show __consumer_offsets, __transaction_state and markers as they are stored, not decoded'
complete -c klog -n "__fish_klog_using_subcommand consume" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand consume" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand consume" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand consume" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand consume" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand topic; and not __fish_seen_subcommand_from create list describe delete config grow replicas trim offsets apply copy" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and not __fish_seen_subcommand_from create list describe delete config grow replicas trim offsets apply copy" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and not __fish_seen_subcommand_from create list describe delete config grow replicas trim offsets apply copy" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and not __fish_seen_subcommand_from create list describe delete config grow replicas trim offsets apply copy" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand topic; and not __fish_seen_subcommand_from create list describe delete config grow replicas trim offsets apply copy" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand topic; and not __fish_seen_subcommand_from create list describe delete config grow replicas trim offsets apply copy" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand topic; and not __fish_seen_subcommand_from create list describe delete config grow replicas trim offsets apply copy" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand topic; and not __fish_seen_subcommand_from create list describe delete config grow replicas trim offsets apply copy" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand topic; and not __fish_seen_subcommand_from create list describe delete config grow replicas trim offsets apply copy" -f -a "create" -d 'Make topics'
complete -c klog -n "__fish_klog_using_subcommand topic; and not __fish_seen_subcommand_from create list describe delete config grow replicas trim offsets apply copy" -f -a "list" -d 'List topics with their records and sizes'
complete -c klog -n "__fish_klog_using_subcommand topic; and not __fish_seen_subcommand_from create list describe delete config grow replicas trim offsets apply copy" -f -a "describe" -d 'Show partitions, replicas, offsets and settings'
complete -c klog -n "__fish_klog_using_subcommand topic; and not __fish_seen_subcommand_from create list describe delete config grow replicas trim offsets apply copy" -f -a "delete" -d 'Delete topics with all their records'
complete -c klog -n "__fish_klog_using_subcommand topic; and not __fish_seen_subcommand_from create list describe delete config grow replicas trim offsets apply copy" -f -a "config" -d 'Show and change the settings of a topic'
complete -c klog -n "__fish_klog_using_subcommand topic; and not __fish_seen_subcommand_from create list describe delete config grow replicas trim offsets apply copy" -f -a "grow" -d 'Add partitions'
complete -c klog -n "__fish_klog_using_subcommand topic; and not __fish_seen_subcommand_from create list describe delete config grow replicas trim offsets apply copy" -f -a "replicas" -d 'Give partitions more or fewer replicas, or other brokers'
complete -c klog -n "__fish_klog_using_subcommand topic; and not __fish_seen_subcommand_from create list describe delete config grow replicas trim offsets apply copy" -f -a "trim" -d 'Delete the records before a position'
complete -c klog -n "__fish_klog_using_subcommand topic; and not __fish_seen_subcommand_from create list describe delete config grow replicas trim offsets apply copy" -f -a "offsets" -d 'Show where partitions start and end, and what is where'
complete -c klog -n "__fish_klog_using_subcommand topic; and not __fish_seen_subcommand_from create list describe delete config grow replicas trim offsets apply copy" -f -a "apply" -d 'Make topics what a file says'
complete -c klog -n "__fish_klog_using_subcommand topic; and not __fish_seen_subcommand_from create list describe delete config grow replicas trim offsets apply copy" -f -a "copy" -d 'Make a topic like another one, with its records'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from create" -s p -l partitions -d 'How many partitions [default: the broker\'s num.partitions]' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from create" -s r -l replicas -d 'How many replicas [default: the broker\'s default.replication.factor]' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from create" -s c -l config -d 'A setting of the topic' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from create" -l assign -d 'Which brokers have each partition: one list a partition, its ids joined by colons (1:2,2:3)' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from create" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from create" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from create" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from create" -l if-not-exists -d 'A topic that is there already is a success'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from create" -l dry-run -d 'Only show what would be done'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from create" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from create" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from create" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from create" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from list" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from list" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from list" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from list" -s r -l regex -d 'The names are regular expressions, each matching a whole name'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from list" -s i -l internal -d 'Also those that brokers keep for themselves'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from list" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from list" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from describe" -l health -d 'Only partitions that are not well' -r -f -a "under-replicated\t''
offline\t''
under-min-isr\t''"
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from describe" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from describe" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from describe" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from describe" -s r -l regex -d 'The names are regular expressions, each matching a whole name'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from describe" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from describe" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from describe" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from describe" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from describe" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from delete" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from delete" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from delete" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from delete" -s r -l regex -d 'The names are regular expressions, each matching a whole name'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from delete" -l if-exists -d 'A topic that is not there is a success'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from delete" -s y -l yes -d 'Do not ask'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from delete" -l dry-run -d 'Only show what would be done'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from delete" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from delete" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from delete" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from delete" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from config" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from config" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from config" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from config" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from config" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from config" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from config" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from config" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from config" -f -a "get" -d 'Show settings and where their values come from'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from config" -f -a "set" -d 'Give settings a value'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from config" -f -a "unset" -d 'Give settings their default back'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from config" -f -a "append" -d 'Add to settings that are lists'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from config" -f -a "subtract" -d 'Take away from settings that are lists'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from grow" -l assign -d 'Which brokers have each partition: one list a partition, its ids joined by colons (1:2,2:3)' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from grow" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from grow" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from grow" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from grow" -l dry-run -d 'Only show what would be done'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from grow" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from grow" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from grow" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from grow" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from grow" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from replicas" -s p -l partitions -d 'Only these partitions' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from replicas" -s r -l replicas -d 'How many replicas each partition shall have' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from replicas" -l on -d 'Only on these brokers: 1,2,3' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from replicas" -l assign -d 'Which brokers have each partition: one list a partition, its ids joined by colons (1:2,2:3)' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from replicas" -l timeout -d 'How long they are waited for [default: 5m]' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from replicas" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from replicas" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from replicas" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from replicas" -l regex -d 'The names are regular expressions, each matching a whole name'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from replicas" -l cancel -d 'Take moves back that are under way'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from replicas" -l no-wait -d 'Do not wait until the moves are done'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from replicas" -s y -l yes -d 'Do not ask'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from replicas" -l dry-run -d 'Only show what would be done'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from replicas" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from replicas" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from replicas" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from replicas" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from replicas" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from trim" -s o -l offset -d 'Keep from here on: N, +N, -N, end or @TIME' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from trim" -s p -l partitions -d 'Only these partitions' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from trim" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from trim" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from trim" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from trim" -s y -l yes -d 'Do not ask'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from trim" -l dry-run -d 'Only show what would be done'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from trim" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from trim" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from trim" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from trim" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from trim" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from offsets" -s p -l partitions -d 'Only these partitions' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from offsets" -s o -l offset -d 'Also this position: N, +N, -N, start, end or @TIME' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from offsets" -l epoch -d 'Also where this leader epoch ends' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from offsets" -l isolation -d 'Where the end is [default: uncommitted, the high watermark]' -r -f -a "committed\t''
uncommitted\t''"
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from offsets" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from offsets" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from offsets" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from offsets" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from offsets" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from offsets" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from offsets" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from offsets" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from apply" -s f -l file -d 'The file, or - for stdin' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from apply" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from apply" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from apply" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from apply" -l prune -d 'Also delete topics and settings that the file does not name'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from apply" -s y -l yes -d 'Do not ask'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from apply" -l dry-run -d 'Only show what would be done'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from apply" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from apply" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from apply" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from apply" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from copy" -s p -l partitions -d 'Its partitions [default: as many as the other has]' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from copy" -s r -l replicas -d 'Its replicas [default: as many as the other has]' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from copy" -s c -l config -d 'A setting of its own, besides those of the other' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from copy" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from copy" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from copy" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from copy" -l no-records -d 'Only the topic'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from copy" -l append -d 'The topic is there already, and the records are added'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from copy" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from copy" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from copy" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from copy" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand topic; and __fish_seen_subcommand_from copy" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand group; and not __fish_seen_subcommand_from list describe reset export delete forget kick" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand group; and not __fish_seen_subcommand_from list describe reset export delete forget kick" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand group; and not __fish_seen_subcommand_from list describe reset export delete forget kick" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand group; and not __fish_seen_subcommand_from list describe reset export delete forget kick" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand group; and not __fish_seen_subcommand_from list describe reset export delete forget kick" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand group; and not __fish_seen_subcommand_from list describe reset export delete forget kick" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand group; and not __fish_seen_subcommand_from list describe reset export delete forget kick" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand group; and not __fish_seen_subcommand_from list describe reset export delete forget kick" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand group; and not __fish_seen_subcommand_from list describe reset export delete forget kick" -f -a "list" -d 'List groups with state, members and lag'
complete -c klog -n "__fish_klog_using_subcommand group; and not __fish_seen_subcommand_from list describe reset export delete forget kick" -f -a "describe" -d 'Show members, assignments, committed offsets and lag'
complete -c klog -n "__fish_klog_using_subcommand group; and not __fish_seen_subcommand_from list describe reset export delete forget kick" -f -a "reset" -d 'Move what a group committed'
complete -c klog -n "__fish_klog_using_subcommand group; and not __fish_seen_subcommand_from list describe reset export delete forget kick" -f -a "export" -d 'Write what a group committed as topic,partition,offset'
complete -c klog -n "__fish_klog_using_subcommand group; and not __fish_seen_subcommand_from list describe reset export delete forget kick" -f -a "delete" -d 'Delete groups without members, with all they committed'
complete -c klog -n "__fish_klog_using_subcommand group; and not __fish_seen_subcommand_from list describe reset export delete forget kick" -f -a "forget" -d 'Delete what a group committed for topics that it does not read now'
complete -c klog -n "__fish_klog_using_subcommand group; and not __fish_seen_subcommand_from list describe reset export delete forget kick" -f -a "kick" -d 'Put members out of a group: others get their partitions'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from list" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from list" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from list" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from list" -s r -l regex -d 'The names are regular expressions, each matching a whole name'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from list" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from list" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from describe" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from describe" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from describe" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from describe" -s r -l regex -d 'The names are regular expressions, each matching a whole name'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from describe" -l watch -d 'Show it again every two seconds'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from describe" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from describe" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from describe" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from describe" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from describe" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from reset" -l to -d 'Where to' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from reset" -s t -l topic -d 'Only this topic, or these partitions of it [default: all that the group committed]' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from reset" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from reset" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from reset" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from reset" -s y -l yes -d 'Do not ask'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from reset" -l dry-run -d 'Only show what would be done'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from reset" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from reset" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from reset" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from reset" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from reset" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from export" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from export" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from export" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from export" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from export" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from export" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from export" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from export" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from delete" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from delete" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from delete" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from delete" -s r -l regex -d 'The names are regular expressions, each matching a whole name'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from delete" -s y -l yes -d 'Do not ask'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from delete" -l dry-run -d 'Only show what would be done'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from delete" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from delete" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from delete" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from delete" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from forget" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from forget" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from forget" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from forget" -s y -l yes -d 'Do not ask'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from forget" -l dry-run -d 'Only show what would be done'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from forget" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from forget" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from forget" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from forget" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from forget" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from kick" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from kick" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from kick" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from kick" -l all -d 'All members'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from kick" -s y -l yes -d 'Do not ask'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from kick" -l dry-run -d 'Only show what would be done'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from kick" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from kick" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from kick" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from kick" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand group; and __fish_seen_subcommand_from kick" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "up" -d 'Start a local cluster, or what of it does not run'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "run" -d 'Run a command with a throw-away cluster'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "status" -d 'Show the nodes of a local cluster'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "kill" -d 'Kill nodes as a crash would (SIGKILL)'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "pause" -d 'Let nodes stand still (SIGSTOP): silent, but not gone'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "resume" -d 'Let paused nodes go on'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "stop" -d 'Stop nodes cleanly: they hand over what they lead first'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "start" -d 'Start nodes that do not run, on the ports that they had'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "restart" -d 'Stop nodes cleanly and start them again'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "isolate" -d 'Cut nodes off from all others'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "partition" -d 'Cut two sets of nodes off from each other'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "delay" -d 'Let each message that a node sends to others wait'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "heal" -d 'Take away what isolate, partition and delay did'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "add" -d 'Add a node to a running cluster'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "decommission" -d 'Move all partitions off a node, then take it out of the cluster for good'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "logs" -d 'Show what nodes said'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "down" -d 'Stop all nodes of a local cluster; the data stay'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "rm" -d 'Remove a local cluster with all its data'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "list" -d 'List local clusters'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "info" -d 'Show what any cluster is: brokers, controller, quorum, features, APIs'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "elect" -d 'Have the preferred replica of partitions lead them again'
complete -c klog -n "__fish_klog_using_subcommand cluster; and not __fish_seen_subcommand_from up run status kill pause resume stop start restart isolate partition delay heal add decommission logs down rm list info elect quorum" -f -a "quorum" -d 'Show the quorum that holds the metadata of any cluster'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from up" -s n -l nodes -d 'How many nodes [default: those that there are, else 3]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from up" -l name -d 'Its name [default: dev]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from up" -l data -d 'Where the nodes\' data folders are [default: $XDG_DATA_HOME/klog/clusters/NAME]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from up" -l port -d 'The port of the first node, the others follow; auto takes free ones [default: 9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from up" -s f -l file -d 'Describe the cluster by a YAML file' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from up" -l set -d 'Set a broker key by Kafka\'s name, on every node' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from up" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from up" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from up" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from up" -s d -l detach -d 'Leave the nodes in the background'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from up" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from up" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from up" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from up" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from up" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from run" -s n -l nodes -d 'How many nodes [default: 3]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from run" -l set -d 'Set a broker key by Kafka\'s name, on every node' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from run" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from run" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from run" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from run" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from run" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from run" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from run" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from status" -l name -d 'Which cluster [default: KLOG_CLUSTER, else the only one, else dev]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from status" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from status" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from status" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from status" -l watch -d 'Show it again every second'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from status" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from status" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from status" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from status" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from kill" -l name -d 'Which cluster [default: KLOG_CLUSTER, else the only one, else dev]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from kill" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from kill" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from kill" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from kill" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from kill" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from kill" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from kill" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from kill" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from pause" -l name -d 'Which cluster [default: KLOG_CLUSTER, else the only one, else dev]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from pause" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from pause" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from pause" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from pause" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from pause" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from pause" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from pause" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from pause" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from resume" -l name -d 'Which cluster [default: KLOG_CLUSTER, else the only one, else dev]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from resume" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from resume" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from resume" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from resume" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from resume" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from resume" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from resume" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from resume" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from stop" -l name -d 'Which cluster [default: KLOG_CLUSTER, else the only one, else dev]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from stop" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from stop" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from stop" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from stop" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from stop" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from stop" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from stop" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from stop" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from start" -l name -d 'Which cluster [default: KLOG_CLUSTER, else the only one, else dev]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from start" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from start" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from start" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from start" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from start" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from start" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from start" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from start" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from restart" -l name -d 'Which cluster [default: KLOG_CLUSTER, else the only one, else dev]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from restart" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from restart" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from restart" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from restart" -l rolling -d 'One after the other'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from restart" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from restart" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from restart" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from restart" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from restart" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from isolate" -l name -d 'Which cluster [default: KLOG_CLUSTER, else the only one, else dev]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from isolate" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from isolate" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from isolate" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from isolate" -l clients -d 'Cut them off from clients too'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from isolate" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from isolate" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from isolate" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from isolate" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from isolate" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from partition" -l name -d 'Which cluster [default: KLOG_CLUSTER, else the only one, else dev]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from partition" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from partition" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from partition" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from partition" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from partition" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from partition" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from partition" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from partition" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from delay" -l name -d 'Which cluster [default: KLOG_CLUSTER, else the only one, else dev]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from delay" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from delay" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from delay" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from delay" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from delay" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from delay" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from delay" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from delay" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from heal" -l name -d 'Which cluster [default: KLOG_CLUSTER, else the only one, else dev]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from heal" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from heal" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from heal" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from heal" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from heal" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from heal" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from heal" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from heal" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from add" -l name -d 'Which cluster [default: KLOG_CLUSTER, else the only one, else dev]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from add" -l port -d 'Its port [default: auto]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from add" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from add" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from add" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from add" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from add" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from add" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from add" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from decommission" -l name -d 'Which cluster [default: KLOG_CLUSTER, else the only one, else dev]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from decommission" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from decommission" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from decommission" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from decommission" -s y -l yes -d 'Do not ask'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from decommission" -l dry-run -d 'Only show what would move'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from decommission" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from decommission" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from decommission" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from decommission" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from decommission" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from logs" -l name -d 'Which cluster [default: KLOG_CLUSTER, else the only one, else dev]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from logs" -l tail -d 'Only the last lines of each' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from logs" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from logs" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from logs" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from logs" -s f -l follow -d 'Go on with what comes'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from logs" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from logs" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from logs" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from logs" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from logs" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from down" -l name -d 'Which cluster [default: KLOG_CLUSTER, else the only one, else dev]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from down" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from down" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from down" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from down" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from down" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from down" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from down" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from down" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from rm" -l name -d 'Which cluster [default: KLOG_CLUSTER, else the only one, else dev]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from rm" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from rm" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from rm" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from rm" -s y -l yes -d 'Do not ask'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from rm" -l dry-run -d 'Only show what would be removed'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from rm" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from rm" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from rm" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from rm" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from rm" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from list" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from list" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from list" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from list" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from list" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from info" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from info" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from info" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from info" -l apis -d 'The versions of every request that each broker takes, too'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from info" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from info" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from info" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from info" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from info" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from elect" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from elect" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from elect" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from elect" -l unclean -d 'Let a replica that is not in sync lead where no other lives: acknowledged records may be lost'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from elect" -s y -l yes -d 'Do not ask'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from elect" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from elect" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from elect" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from elect" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from elect" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from quorum" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from quorum" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from quorum" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from quorum" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from quorum" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from quorum" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from quorum" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand cluster; and __fish_seen_subcommand_from quorum" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand top" -s t -l topic -d 'Only this topic [default: all but the brokers\' own]' -r
complete -c klog -n "__fish_klog_using_subcommand top" -l interval -d 'How long rates are measured before they are shown again [default: 1s]' -r
complete -c klog -n "__fish_klog_using_subcommand top" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand top" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand top" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand top" -s r -l regex -d 'Topics are regular expressions, each matching a whole name'
complete -c klog -n "__fish_klog_using_subcommand top" -s i -l internal -d 'Also the topics that brokers keep for themselves'
complete -c klog -n "__fish_klog_using_subcommand top" -l once -d 'Show one snapshot on a terminal, too'
complete -c klog -n "__fish_klog_using_subcommand top" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand top" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand top" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand top" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand top" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand config; and not __fish_seen_subcommand_from get describe set unset" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand config; and not __fish_seen_subcommand_from get describe set unset" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand config; and not __fish_seen_subcommand_from get describe set unset" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand config; and not __fish_seen_subcommand_from get describe set unset" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand config; and not __fish_seen_subcommand_from get describe set unset" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand config; and not __fish_seen_subcommand_from get describe set unset" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand config; and not __fish_seen_subcommand_from get describe set unset" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand config; and not __fish_seen_subcommand_from get describe set unset" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand config; and not __fish_seen_subcommand_from get describe set unset" -f -a "get" -d 'Show settings of every broker and where their values come from'
complete -c klog -n "__fish_klog_using_subcommand config; and not __fish_seen_subcommand_from get describe set unset" -f -a "describe" -d 'Show settings with every place that gives them a value, and what they are for'
complete -c klog -n "__fish_klog_using_subcommand config; and not __fish_seen_subcommand_from get describe set unset" -f -a "set" -d 'Give settings a value while the brokers run'
complete -c klog -n "__fish_klog_using_subcommand config; and not __fish_seen_subcommand_from get describe set unset" -f -a "unset" -d 'Take values back that were set while the brokers run'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from get" -l broker -d 'Of this broker alone' -r
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from get" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from get" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from get" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from get" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from get" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from get" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from get" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from get" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from describe" -l broker -d 'Of this broker alone' -r
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from describe" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from describe" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from describe" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from describe" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from describe" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from describe" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from describe" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from describe" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from set" -l broker -d 'Of this broker alone' -r
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from set" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from set" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from set" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from set" -l dry-run -d 'Only check whether it could be done'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from set" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from set" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from set" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from set" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from unset" -l broker -d 'Of this broker alone' -r
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from unset" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from unset" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from unset" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from unset" -l dry-run -d 'Only check whether it could be done'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from unset" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from unset" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from unset" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from unset" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand config; and __fish_seen_subcommand_from unset" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand mirror" -s t -l topic -d 'Only this topic [default: all but the brokers\' own]' -r
complete -c klog -n "__fish_klog_using_subcommand mirror" -l groups -d 'Also what these groups committed' -r
complete -c klog -n "__fish_klog_using_subcommand mirror" -l name -d 'The group that holds the mirror\'s positions in the source [default: klog-mirror]' -r
complete -c klog -n "__fish_klog_using_subcommand mirror" -l replicas -d 'Replicas of topics that are made [default: the target\'s]' -r
complete -c klog -n "__fish_klog_using_subcommand mirror" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand mirror" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand mirror" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand mirror" -s r -l regex -d 'Topics are regular expressions, each matching a whole name'
complete -c klog -n "__fish_klog_using_subcommand mirror" -l follow -d 'Go on with what comes'
complete -c klog -n "__fish_klog_using_subcommand mirror" -l dry-run -d 'Only show what would be mirrored'
complete -c klog -n "__fish_klog_using_subcommand mirror" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand mirror" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand mirror" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand mirror" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand mirror" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand bench; and not __fish_seen_subcommand_from produce consume latency failover" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and not __fish_seen_subcommand_from produce consume latency failover" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and not __fish_seen_subcommand_from produce consume latency failover" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and not __fish_seen_subcommand_from produce consume latency failover" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand bench; and not __fish_seen_subcommand_from produce consume latency failover" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand bench; and not __fish_seen_subcommand_from produce consume latency failover" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand bench; and not __fish_seen_subcommand_from produce consume latency failover" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand bench; and not __fish_seen_subcommand_from produce consume latency failover" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand bench; and not __fish_seen_subcommand_from produce consume latency failover" -f -a "produce" -d 'How many records a second are stored, and when each is acknowledged'
complete -c klog -n "__fish_klog_using_subcommand bench; and not __fish_seen_subcommand_from produce consume latency failover" -f -a "consume" -d 'How many records a second are read'
complete -c klog -n "__fish_klog_using_subcommand bench; and not __fish_seen_subcommand_from produce consume latency failover" -f -a "latency" -d 'How long a record takes from a producer to a consumer that waits for it'
complete -c klog -n "__fish_klog_using_subcommand bench; and not __fish_seen_subcommand_from produce consume latency failover" -f -a "failover" -d 'How long writes stand still when the node that leads a partition is killed'
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from produce" -s t -l topic -d 'Use this topic and leave it there [default: one that is made and deleted]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from produce" -s p -l partitions -d 'Partitions of the topic that is made [default: 1]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from produce" -s r -l replicas -d 'Its replicas [default: the broker\'s]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from produce" -s c -l count -d 'How many records [default: 1000000]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from produce" -l size -d 'Bytes of a value [default: 100]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from produce" -l acks -d 'Who must have a record before it counts as stored [default: all]' -r -f -a "0\t''
1\t''
all\t''"
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from produce" -s z -l compression -d 'none, gzip, snappy, lz4 or zstd, with :LEVEL [default: none]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from produce" -l rate -d 'Records a second [default: as many as there can be]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from produce" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from produce" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from produce" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from produce" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from produce" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from produce" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from produce" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from produce" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from consume" -s t -l topic -d 'Use this topic and leave it there [default: one that is made and deleted]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from consume" -s p -l partitions -d 'Partitions of the topic that is made [default: 1]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from consume" -s r -l replicas -d 'Its replicas [default: the broker\'s]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from consume" -s c -l count -d 'How many records [default: 1000000]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from consume" -l size -d 'Bytes of a value [default: 100]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from consume" -s z -l compression -d 'none, gzip, snappy, lz4 or zstd, with :LEVEL [default: none]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from consume" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from consume" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from consume" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from consume" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from consume" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from consume" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from consume" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from consume" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from latency" -s t -l topic -d 'Use this topic and leave it there [default: one that is made and deleted]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from latency" -s p -l partitions -d 'Partitions of the topic that is made [default: 1]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from latency" -s r -l replicas -d 'Its replicas [default: the broker\'s]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from latency" -l size -d 'Bytes of a value [default: 100]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from latency" -l acks -d 'Who must have a record before it counts as stored [default: all]' -r -f -a "0\t''
1\t''
all\t''"
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from latency" -s c -l count -d 'How many records [default: 10000]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from latency" -l rate -d 'Records a second [default: 1000]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from latency" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from latency" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from latency" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from latency" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from latency" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from latency" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from latency" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from latency" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from failover" -l rounds -d 'How many leaders are killed [default: 5]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from failover" -l rate -d 'Records a second [default: 500]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from failover" -l size -d 'Bytes of a value [default: 100]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from failover" -l name -d 'Kill nodes of this local cluster [default: that of klog cluster run, else a throw-away one]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from failover" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from failover" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from failover" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from failover" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from failover" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from failover" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from failover" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand bench; and __fish_seen_subcommand_from failover" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand log; and not __fish_seen_subcommand_from dump verify repair" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand log; and not __fish_seen_subcommand_from dump verify repair" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand log; and not __fish_seen_subcommand_from dump verify repair" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand log; and not __fish_seen_subcommand_from dump verify repair" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand log; and not __fish_seen_subcommand_from dump verify repair" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand log; and not __fish_seen_subcommand_from dump verify repair" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand log; and not __fish_seen_subcommand_from dump verify repair" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand log; and not __fish_seen_subcommand_from dump verify repair" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand log; and not __fish_seen_subcommand_from dump verify repair" -f -a "dump" -d 'Write the batches in the files of logs, or their records'
complete -c klog -n "__fish_klog_using_subcommand log; and not __fish_seen_subcommand_from dump verify repair" -f -a "verify" -d 'Read everything and tell what is wrong: checksums, offsets, indexes, epochs'
complete -c klog -n "__fish_klog_using_subcommand log; and not __fish_seen_subcommand_from dump verify repair" -f -a "repair" -d 'Take damage out of logs and keep every whole batch'
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from dump" -s f -l format -d 'Write records in this format' -r
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from dump" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from dump" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from dump" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from dump" -s J -l json-lines -d 'Write records as JSON lines'
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from dump" -l raw -d 'Show what brokers keep for themselves as it is stored, not decoded'
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from dump" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from dump" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from dump" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from dump" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from dump" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from verify" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from verify" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from verify" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from verify" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from verify" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from verify" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from verify" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from repair" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from repair" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from repair" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from repair" -s y -l yes -d 'Do not ask'
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from repair" -l dry-run -d 'Only show what would be done'
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from repair" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from repair" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from repair" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from repair" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand log; and __fish_seen_subcommand_from repair" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand profile; and not __fish_seen_subcommand_from list set unset use delete" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand profile; and not __fish_seen_subcommand_from list set unset use delete" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand profile; and not __fish_seen_subcommand_from list set unset use delete" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand profile; and not __fish_seen_subcommand_from list set unset use delete" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand profile; and not __fish_seen_subcommand_from list set unset use delete" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand profile; and not __fish_seen_subcommand_from list set unset use delete" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand profile; and not __fish_seen_subcommand_from list set unset use delete" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand profile; and not __fish_seen_subcommand_from list set unset use delete" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand profile; and not __fish_seen_subcommand_from list set unset use delete" -f -a "list" -d 'List profiles'
complete -c klog -n "__fish_klog_using_subcommand profile; and not __fish_seen_subcommand_from list set unset use delete" -f -a "set" -d 'Make a profile of -b and -X, or change what they name'
complete -c klog -n "__fish_klog_using_subcommand profile; and not __fish_seen_subcommand_from list set unset use delete" -f -a "unset" -d 'Take properties out of a profile'
complete -c klog -n "__fish_klog_using_subcommand profile; and not __fish_seen_subcommand_from list set unset use delete" -f -a "use" -d 'Make a profile the current one; without NAME, none'
complete -c klog -n "__fish_klog_using_subcommand profile; and not __fish_seen_subcommand_from list set unset use delete" -f -a "delete" -d 'Delete a profile'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from list" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from list" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from list" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from list" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from list" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from list" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from list" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from set" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from set" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from set" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from set" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from set" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from set" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from set" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from set" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from unset" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from unset" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from unset" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from unset" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from unset" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from unset" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from unset" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from unset" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from use" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from use" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from use" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from use" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from use" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from use" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from use" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from use" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from delete" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from delete" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from delete" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from delete" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from delete" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from delete" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from delete" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand profile; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand completions" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand completions" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand completions" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand completions" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand completions" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand completions" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand completions" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand completions" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand links" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand links" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand links" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand links" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand links" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand links" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand links" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand links" -s h -l help -d 'Print help'
complete -c klog -n "__fish_klog_using_subcommand man" -s b -l brokers -d 'Brokers to ask first [env: KLOG_BROKERS; default: the profile\'s, a local cluster\'s, localhost:9092]' -r
complete -c klog -n "__fish_klog_using_subcommand man" -s X -l property -d 'Set a client property by Kafka\'s name' -r
complete -c klog -n "__fish_klog_using_subcommand man" -l profile -d 'Use the brokers and properties of this profile' -r
complete -c klog -n "__fish_klog_using_subcommand man" -l json -d 'Write one JSON object (a stream: one a line), errors included'
complete -c klog -n "__fish_klog_using_subcommand man" -l no-headers -d 'Leave out the header line of tables'
complete -c klog -n "__fish_klog_using_subcommand man" -s q -l quiet -d 'Say nothing but errors'
complete -c klog -n "__fish_klog_using_subcommand man" -s v -l verbose -d 'Explain what is done'
complete -c klog -n "__fish_klog_using_subcommand man" -s h -l help -d 'Print help'

# Names that there are now.
complete -c klog -n "__fish_seen_subcommand_from produce" -f -a "(klog topic list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from consume" -f -a "(klog topic list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from topic; and __fish_seen_subcommand_from create" -f -a "(klog topic list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from topic; and __fish_seen_subcommand_from list" -f -a "(klog topic list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from topic; and __fish_seen_subcommand_from describe" -f -a "(klog topic list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from topic; and __fish_seen_subcommand_from delete" -f -a "(klog topic list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from topic; and __fish_seen_subcommand_from config; and __fish_seen_subcommand_from get" -f -a "(klog topic list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from topic; and __fish_seen_subcommand_from config; and __fish_seen_subcommand_from set" -f -a "(klog topic list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from topic; and __fish_seen_subcommand_from config; and __fish_seen_subcommand_from unset" -f -a "(klog topic list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from topic; and __fish_seen_subcommand_from config; and __fish_seen_subcommand_from append" -f -a "(klog topic list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from topic; and __fish_seen_subcommand_from config; and __fish_seen_subcommand_from subtract" -f -a "(klog topic list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from topic; and __fish_seen_subcommand_from grow" -f -a "(klog topic list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from topic; and __fish_seen_subcommand_from replicas" -f -a "(klog topic list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from topic; and __fish_seen_subcommand_from trim" -f -a "(klog topic list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from topic; and __fish_seen_subcommand_from offsets" -f -a "(klog topic list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from topic; and __fish_seen_subcommand_from copy" -f -a "(klog topic list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from group; and __fish_seen_subcommand_from list" -f -a "(klog group list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from group; and __fish_seen_subcommand_from describe" -f -a "(klog group list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from group; and __fish_seen_subcommand_from reset" -f -a "(klog group list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from group; and __fish_seen_subcommand_from export" -f -a "(klog group list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from group; and __fish_seen_subcommand_from delete" -f -a "(klog group list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from group; and __fish_seen_subcommand_from forget" -f -a "(klog group list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from group; and __fish_seen_subcommand_from kick" -f -a "(klog group list -q --no-headers 2>/dev/null | cut -f1)"
complete -c klog -n "__fish_seen_subcommand_from cluster; and __fish_seen_subcommand_from elect" -f -a "(klog topic list -q --no-headers 2>/dev/null | cut -f1)"
