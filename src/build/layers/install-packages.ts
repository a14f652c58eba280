// The scripts by which dpkg installs packages in a root file system of its own. Maintainer scripts run, the
// package database is true; services are not started, no initrd is made, and nothing is flushed to disk before
// the layer is whole.
import { buildEpoch, excludedPaths, includedPaths } from '../lock/rules.ts';

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

/** A package that is not wholly set up is told by dpkg, and ends the build. */
const finish = `
problems=$(in_root dpkg --audit)
if [ -n "$problems" ]; then
  echo "$problems" >&2
  exit 1
fi
rm -f "$root/usr/sbin/policy-rc.d"
`;

/** $root is mounted by then. */
export const prepareRoot = `
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

const mountRoot = `
mkdir -p "$folder/tree" "$folder/none" "$folder/work" "$root"
if [ "$mode" = overlay ]; then
  cd "$folder"
  overlay="lowerdir=$lowers,upperdir=tree,workdir=work,userxattr"
  mount -t overlay overlay -o "$overlay,volatile" merged 2>/dev/null || mount -t overlay overlay -o "$overlay" merged
  cd /
else
  mount --bind "$folder/tree" "$root"
fi
`;

/**
 * A base system from nothing. $1 is a folder, $2 `overlay` or `plain`, $3 the input store, $4 the essential packages
 * and $5 the others, as paths in the store with spaces between. The result is `tree` in the folder.
 */
export const baseScript = `
folder=$1 mode=$2 inputs=$3 essential=$4 others=$5
root=$folder/merged log=$folder/dpkg.log lowers=none
${shellFunctions}
${mountRoot}
mkdir -p "$root/usr/bin" "$root/usr/sbin" "$root/usr/lib" "$root/usr/lib64" "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
for name in bin sbin lib lib64; do ln -s "usr/$name" "$root/$name"; done
: >"$root/var/lib/dpkg/status"
export root inputs
for path in $essential; do echo "$path"; done |
  xargs -P 2 -n 1 sh -c 'dpkg-deb --fsys-tarfile "$inputs/$1" | tar --extract --directory="$root" --preserve-permissions --exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/locale' sh
${prepareRoot}
set -- ; for path in $essential; do set -- "$@" "${inputsMount}/$path"; done
run_dpkg --force-depends --install "$@" 2>&1 | grep -v -e '^(Reading database' -e '^Preparing to unpack' -e 'pre-dependency problem' || true
set -- ; for path in $others; do set -- "$@" "${inputsMount}/$path"; done
[ $# -eq 0 ] || install_all "$@"
${finish}
`;

/**
 * More packages over what is there. $1 to $3 as before, $4 the packages, $5 the folders below as links in $1, the
 * topmost first, with colons between; for `plain` the tree is there already.
 */
export const packagesScript = `
folder=$1 mode=$2 inputs=$3 packages=$4 lowers=$5
root=$folder/merged log=$folder/dpkg.log
${shellFunctions}
${mountRoot}
${prepareRoot}
set -- ; for path in $packages; do set -- "$@" "${inputsMount}/$path"; done
install_all "$@"
${finish}
`;

/** Trust anchors over what is there: $4 is pairs of a name and an input, with an equals sign between. */
export const trustScript = `
folder=$1 mode=$2 inputs=$3 anchors=$4 lowers=$5
root=$folder/merged
${shellFunctions}
${mountRoot}
${prepareRoot}
mkdir -p "$root/usr/local/share/ca-certificates"
for anchor in $anchors; do
  install -m 644 "$inputs/\${anchor#*=}" "$root/usr/local/share/ca-certificates/\${anchor%%=*}.crt"
done
in_root update-ca-certificates 2>&1
${finish}
`;

/** Prints the tree at $1 as an archive that the same tree always gives. */
export const archiveScript = `
exec tar --create --directory="$1" --sort=name --numeric-owner --format=pax \\
  --pax-option=delete=atime,delete=ctime --xattrs --xattrs-include='*' --one-file-system .
`;

/** Unpacks the archive that comes on standard input into the folder $1. */
export const unpackScript = `
mkdir -p "$1"
exec tar --extract --directory="$1" --numeric-owner --same-owner --preserve-permissions \\
  --xattrs --xattrs-include='*'
`;

/** Removes the paths that come on standard input, each ended by a zero byte, from the folder $1. */
export const removeScript = `
cd "$1"
exec xargs -0 -r rm -rf --
`;

/** Empties them. */
export const emptyScript = `
cd "$1"
exec xargs -0 -r -n 1 sh -c ': >"$1"' sh
`;
