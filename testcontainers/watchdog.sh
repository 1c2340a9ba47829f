# The watchdog of a private cluster. It reads from a pipe whose other end only the test process has, so that the end of
# input is the end of that process, whatever ended it. Each line is the process id of the program that works in the
# cluster's directory, or empty where there is none. At the end of input it stops that program and removes the directory.
# Arguments: the directory.

# It runs in a session of its own, and also outlives signals that go to everything of a job.
trap '' HUP INT TERM

dir=$1
pid=
while read -r line; do pid=$line; done

command_line() {
	if [ -r "/proc/$pid/cmdline" ]; then
		tr '\0' ' ' <"/proc/$pid/cmdline"
	else
		ps -o command= -p "$pid"
	fi 2>/dev/null
}

# A process id may have been given to another program by now; one of ours names the directory in its arguments.
alive() { [ -n "$pid" ] && command_line | grep -qF -- "$dir/"; }

# shut_down SIGNAL TENTHS: fails where the program still runs that many tenths of a second after the signal.
shut_down() {
	alive || return 0
	kill -s "$1" "$pid"
	tenths=0
	while alive; do
		tenths=$((tenths + 1))
		[ "$tenths" -le "$2" ] || return 1
		sleep 0.1
	done
}

shut_down INT 100 || shut_down QUIT 50 || shut_down KILL 50

# What the program started may still be writing its last.
tries=0
until rm -rf -- "$dir" 2>/dev/null; do
	tries=$((tries + 1))
	[ "$tries" -le 100 ] || exit 1
	sleep 0.1
done
