#!/usr/bin/env bash
# A private, throw-away SLURM on this one host, without systemd, cgroups or accounting: munged, slurmctld, two CPU
# nodes, one GPU node with two (pretended) GPUs, and two spare nodes to be killed. Needs no accounting.
#   slurm.sh install | start | env | stop
set -euo pipefail
BOX=${VLMDX_SLURM_BOX:-/tmp/vlmdx-slurm}
PORT=${VLMDX_SLURM_PORT:-28817}
HOST=$(hostname -s)
ME=$(id -un)
export PATH=$PATH:/usr/sbin
export SLURM_CONF=$BOX/etc/slurm.conf

install() {
  command -v slurmctld >/dev/null && command -v munged >/dev/null && return 0
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "SLURM is not installed and cannot be (needs root and apt): apt-get install slurm-wlm munge" >&2
    return 1
  fi
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends slurm-wlm munge
}

write_config() {
  cat >"$BOX/etc/slurm.conf" <<CONF
ClusterName=vlmdx
SlurmctldHost=$HOST(127.0.0.1)
SlurmctldPort=$PORT
SlurmUser=$ME
SlurmdUser=$ME
AuthType=auth/munge
AuthInfo=socket=$BOX/munge/socket
CredType=cred/munge
StateSaveLocation=$BOX/state
SlurmdSpoolDir=$BOX/state/%n
SlurmctldPidFile=$BOX/run/slurmctld.pid
SlurmdPidFile=$BOX/run/%n.pid
SlurmctldLogFile=$BOX/log/slurmctld.log
SlurmdLogFile=$BOX/log/%n.log
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SwitchType=switch/none
MpiDefault=none
TaskPlugin=task/none
# Memory limits without cgroups: processes are sampled and the job is killed.
ProctrackType=proctrack/linuxproc
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherParams=OverMemoryKill
JobAcctGatherFrequency=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,bf_interval=2
GresTypes=gpu
# Nodes may claim more than this host has.
SlurmdParameters=config_overrides
DefMemPerCPU=256
ReturnToService=2
SlurmctldTimeout=30
# A dead node is seen after this many seconds; 300 on a real cluster.
SlurmdTimeout=20
KillWait=5
# The executor plugin falls back to sacct unless this is three times its first waiting time.
MinJobAge=300
NodeName=cpu[1-2] NodeHostname=$HOST NodeAddr=127.0.0.1 Port=$((PORT + 1))-$((PORT + 2)) CPUs=8 RealMemory=64000 State=UNKNOWN
NodeName=gpu1 NodeHostname=$HOST NodeAddr=127.0.0.1 Port=$((PORT + 3)) CPUs=8 RealMemory=64000 Gres=gpu:2 State=UNKNOWN
NodeName=spare[1-2] NodeHostname=$HOST NodeAddr=127.0.0.1 Port=$((PORT + 4))-$((PORT + 5)) CPUs=8 RealMemory=64000 State=UNKNOWN
PartitionName=cpu Nodes=cpu[1-2] Default=YES MaxTime=INFINITE State=UP
PartitionName=gpu Nodes=gpu1 MaxTime=INFINITE State=UP
PartitionName=spare Nodes=spare[1-2] MaxTime=INFINITE State=UP
CONF
  # Any device file will do without cgroups; with File= a job is told its own GPU in CUDA_VISIBLE_DEVICES.
  for number in 0 1; do
    [ -e "$BOX/state/nvidia$number" ] || mknod "$BOX/state/nvidia$number" c 1 3 2>/dev/null || : >"$BOX/state/nvidia$number"
  done
  printf 'AutoDetect=off\nNodeName=gpu1 Name=gpu File=%s/state/nvidia[0-1]\n' "$BOX" >"$BOX/etc/gres.conf"
}

start() {
  mkdir -p "$BOX"/{etc,log,run,state,munge,bin}
  [ -s "$BOX/munge/key" ] || (umask 377 && head -c 1024 /dev/urandom >"$BOX/munge/key")
  # --force: /tmp is writable by all, which munged otherwise refuses.
  munged --force --key-file="$BOX/munge/key" --socket="$BOX/munge/socket" --pid-file="$BOX/run/munged.pid" \
    --log-file="$BOX/munge/log" --seed-file="$BOX/munge/seed" 2>"$BOX/log/munged.err"
  write_config
  # The plugin drops every SLURM_* variable, this one too, before its inner srun: that srun must find the file itself.
  if [ -w /etc/slurm ] && { [ ! -e /etc/slurm/slurm.conf ] || [ -L /etc/slurm/slurm.conf ]; }; then
    ln -sfn "$BOX/etc/slurm.conf" /etc/slurm/slurm.conf
    ln -sfn "$BOX/etc/gres.conf" /etc/slurm/gres.conf
  else
    printf '#!/bin/sh\nSLURM_CONF=%s exec /usr/bin/srun "$@"\n' "$SLURM_CONF" >"$BOX/bin/srun"
    chmod +x "$BOX/bin/srun"
  fi
  slurmctld -c 2>"$BOX/log/slurmctld.err"
  for node in cpu1 cpu2 gpu1 spare1 spare2; do slurmd -N "$node" 2>"$BOX/log/$node.err"; done
  for _ in $(seq 120); do
    # A client waits about nine seconds for a controller that is not there.
    [ "$(timeout 5 sinfo --noheader --Node --format=%T 2>/dev/null | grep -c '^idle$' || true)" = 5 ] && return 0
    sleep 0.25
  done
  echo "the cluster does not come up; see $BOX/log" >&2
  return 1
}

stop() {
  timeout 10 scancel --user="$ME" 2>/dev/null || true
  for _ in $(seq 40); do  # KillWait and a little
    [ -n "$(timeout 5 squeue --noheader --user="$ME" 2>/dev/null || true)" ] || break
    sleep 0.25
  done
  local pids
  pids=$(cat "$BOX"/run/*.pid 2>/dev/null || true)
  for pid in $pids; do kill "$pid" 2>/dev/null || true; done
  for _ in $(seq 40); do
    local left=
    for pid in $pids; do if kill -0 "$pid" 2>/dev/null; then left=1; fi; done
    [ -z "$left" ] && break
    sleep 0.25
  done
  for pid in $pids; do kill -9 "$pid" 2>/dev/null || true; done
  for name in slurm.conf gres.conf; do
    if [ "$(readlink "/etc/slurm/$name" 2>/dev/null)" = "$BOX/etc/$name" ]; then rm -f "/etc/slurm/$name"; fi
  done
  rm -rf "$BOX"
}

case "${1:-}" in
install | start | stop) "$1" ;;
env) printf 'export SLURM_CONF=%s PATH=%s/bin:$PATH:/usr/sbin\n' "$SLURM_CONF" "$BOX" ;;
*) echo "usage: $0 install | start | env | stop" >&2 && exit 2 ;;
esac
