// The scripts by which dpkg installs packages in a root file system of its own. Maintainer scripts run, the
// package database is true; services are not started, no initrd is made, and nothing is flushed to disk before
// the layer is whole.
import { buildEpoch, excludedPaths, includedPaths } from '../build-rules.ts';

/** Where the input store is seen inside. */
export const inputsMount = '/imago-inputs';

export const installEnvironment = {
  DEBIAN_FRONTEND: 'noninteractive',
  DEBCONF_NONINTERACTIVE_SEEN: 'true',
  SOURCE_DATE_EPOCH: String(buildEpoch),
  INITRD: 'No',
  SYSTEMD_OFFLINE: '1',
} as const;

const dpkgOptions = [
  '--force-unsafe-io',
  '--force-confold',
  '--abort-after=100000',
  ...excludedPaths.map((path) => `--path-exclude=${path}`),
  ...includedPaths.map((path) => `--path-include=${path}`),
];

function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(' ');
}

/** $root is mounted by then. */
const prepareRoot = `
mkdir -p "$root/proc" "$root/sys" "$root/dev" "$root/run" "$root/tmp" "$root${inputsMount}"
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
mount -t sysfs -o ro,nosuid,nodev,noexec sysfs "$root/sys" 2>/dev/null || true
mount -t tmpfs -o mode=755,nosuid tmpfs "$root/dev"
for node in null zero full random urandom tty; do
  : >"$root/dev/$node"
  mount --bind "/dev/$node" "$root/dev/$node"
done
ln -s /proc/self/fd "$root/dev/fd"
ln -s /proc/self/fd/0 "$root/dev/stdin"
ln -s /proc/self/fd/1 "$root/dev/stdout"
ln -s /proc/self/fd/2 "$root/dev/stderr"
mkdir "$root/dev/shm"
mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/dev/shm"
mount -t tmpfs -o mode=755,nosuid,nodev tmpfs "$root/run"
mount -t tmpfs -o mode=1777,nosuid,nodev tmpfs "$root/tmp"
mount --bind "$inputs" "$root${inputsMount}"
mount -o remount,bind,ro "$root${inputsMount}" 2>/dev/null || true
printf '#!/bin/sh\\nexit 101\\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
`;

const shellFunctions = `
umask 022
in_root() { chroot "$root" "$@"; }
run_dpkg() { in_root dpkg ${quoted(dpkgOptions)} "$@"; }
# Takes packages in as their pre-dependencies allow: what dpkg refuses is tried again once the others are set up.
install_all() {
  left=$*
  while [ -n "$left" ]; do
    run_dpkg --unpack $left >"$log" 2>&1 && refused= || refused=$(sed -n '/^Errors were encountered while processing:/,$s/^ //p' "$log")
    if [ -n "$refused" ] && [ "$(echo $refused)" = "$(echo $left)" ]; then
      cat "$log" >&2
      exit 1
    fi
    grep -v -e '^(Reading database' -e '^Preparing to unpack' "$log" || true
    # What waits for a package that was refused cannot be set up yet; the last turn must set up everything.
    run_dpkg --configure --pending 2>&1 || [ -n "$refused" ]
    left=$refused
  done
}
`;

/**
 * A base system from nothing. $1 is an empty folder, $2 the input store, $3 the inputs of the essential packages
 * and $4 those of the others, as paths in the store with spaces between.
 */
export const baseScript = `
folder=$1 inputs=$2 essential=$3 others=$4
root=$folder/merged log=$folder/dpkg.log
mkdir -p "$folder/tree" "$folder/lower" "$folder/work" "$root"
${shellFunctions}
mount -t overlay overlay -o "lowerdir=$folder/lower,upperdir=$folder/tree,workdir=$folder/work,userxattr,volatile" "$root" 2>/dev/null ||
  mount --bind "$folder/tree" "$root"
mkdir -p "$root/usr/bin" "$root/usr/sbin" "$root/usr/lib" "$root/usr/lib64" "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
for name in bin sbin lib lib64; do ln -s "usr/$name" "$root/$name"; done
: >"$root/var/lib/dpkg/status"
export root inputs
for path in $essential; do echo "$path"; done |
  xargs -P 2 -n 1 sh -c 'dpkg-deb --fsys-tarfile "$inputs/$1" | tar --extract --directory="$root" --no-same-permissions --preserve-permissions --exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/locale' sh
${prepareRoot}
set -- ; for path in $essential; do set -- "$@" "${inputsMount}/$path"; done
run_dpkg --force-depends --install "$@" 2>&1 | grep -v -e '^(Reading database' -e '^Preparing to unpack' -e 'pre-dependency problem' || true
run_dpkg --audit
set -- ; for path in $others; do set -- "$@" "${inputsMount}/$path"; done
[ $# -eq 0 ] || install_all "$@"
in_root dpkg --audit
rm -f "$root/usr/sbin/policy-rc.d"
`;

/**
 * More packages over a base system. $1 is a folder, $2 the input store, $3 the paths of the packages, $4 the
 * folder of the base system, $5 pairs of a name and an input, with an equals sign between: trust anchors.
 */
export const packagesScript = `
folder=$1 inputs=$2 packages=$3 base=$4 anchors=$5
root=$folder/merged log=$folder/dpkg.log
mkdir -p "$folder/upper" "$folder/work" "$root"
${shellFunctions}
if mount -t overlay overlay -o "lowerdir=$base,upperdir=$folder/upper,workdir=$folder/work,userxattr,volatile" "$root" 2>/dev/null; then
  :
else
  cp -a --reflink=auto "$base/." "$folder/whole"
  mount --bind "$folder/whole" "$root"
fi
${prepareRoot}
set -- ; for path in $packages; do set -- "$@" "${inputsMount}/$path"; done
[ $# -eq 0 ] || install_all "$@"
if [ -n "$anchors" ]; then
  mkdir -p "$root/usr/local/share/ca-certificates"
  for anchor in $anchors; do
    install -m 644 "$inputs/\${anchor#*=}" "$root/usr/local/share/ca-certificates/\${anchor%%=*}.crt"
  done
  in_root update-ca-certificates 2>&1
fi
in_root dpkg --audit
rm -f "$root/usr/sbin/policy-rc.d"
`;

/** Prints the tree at $1 as an archive that the same tree always gives. */
export const archiveScript = `
exec tar --create --directory="$1" --sort=name --numeric-owner --format=pax \\
  --pax-option=delete=atime,delete=ctime --xattrs --xattrs-include='*' --one-file-system .
`;

/** Unpacks the archive $2 into the folder $1. */
export const unpackScript = `
mkdir -p "$1"
exec tar --extract --file="$2" --directory="$1" --numeric-owner --same-owner --preserve-permissions \\
  --xattrs --xattrs-include='*'
`;
