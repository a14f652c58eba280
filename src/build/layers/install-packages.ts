// The scripts by which dpkg installs packages in a root file system of its own. Maintainer scripts run, the
// package database is true; services are not started, no initrd is made, and nothing is flushed to disk before
// the layer is whole.
import { buildEpoch, excludedPaths, includedPaths } from '../lock/rules.ts';
import { inputsMount, workMount } from '../sandbox/stages.ts';

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

/**
 * What packages brought is not trusted: the tree they made is changed from inside of it, where its links lead nowhere else.
 * dpkg reports a package that is not fully set up, and the build fails.
 */
const prepare = `
in_root sh -c 'printf "#!/bin/sh\\nexit 101\\n" >/usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d'
`;
const finish = `
problems=$(in_root dpkg --audit)
if [ -n "$problems" ]; then
  echo "$problems" >&2
  exit 1
fi
in_root rm -f /usr/sbin/policy-rc.d
`;

const shellFunctions = `
umask 022
folder=${workMount} root=${workMount}/merged log=${workMount}/dpkg.log
inputs() { for name in $1; do echo "${inputsMount}/$name"; done; }
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

/** Mounts the tree that is made at $root. $mode is `overlay` or `plain`, $lowers the folders below. */
export const mountRoot = `
mkdir -p "$folder/tree" "$folder/none" "$folder/work" "$root"
if [ "$mode" = overlay ]; then
  overlay="lowerdir=\${lowers:-$folder/none},upperdir=$folder/tree,workdir=$folder/work,userxattr"
  mount -t overlay overlay -o "$overlay,volatile" "$root" 2>/dev/null || mount -t overlay overlay -o "$overlay" "$root"
else
  mount --bind "$folder/tree" "$root"
fi
`;

/**
 * A base system from nothing. $1 is `overlay` or `plain`, $2 the essential packages and $3 the others, as names of inputs
 * with spaces between. The result is `tree` in the folder of the run.
 */
export const baseScript = `
mode=$1 essential=$2 others=$3 lowers=
${shellFunctions}
${mountRoot}
mkdir -p "$root/usr/bin" "$root/usr/sbin" "$root/usr/lib" "$root/usr/lib64" "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
for name in bin sbin lib lib64; do ln -s "usr/$name" "$root/$name"; done
: >"$root/var/lib/dpkg/status"
export root folder
for name in $essential; do echo "$name"; done |
  xargs -P 2 -n 1 sh -c 'dpkg-deb --fsys-tarfile "$folder/inputs/$1" | tar --extract --directory="$root" --preserve-permissions --exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/locale' sh
${prepare}
run_dpkg --force-depends --install $(inputs "$essential") 2>&1 | grep -v -e '^(Reading database' -e '^Preparing to unpack' -e 'pre-dependency problem' || true
[ -z "$others" ] || install_all $(inputs "$others")
${finish}
`;

/**
 * More packages over what is there. $1 as before, $2 the packages, $3 the folders below, the topmost first, with colons
 * between; for `plain` the tree is there already.
 */
export const packagesScript = `
mode=$1 packages=$2 lowers=$3
${shellFunctions}
${mountRoot}
${prepare}
install_all $(inputs "$packages")
${finish}
`;

/** Trust anchors over what is there: $2 is pairs of a name and an input, with an equals sign between. */
export const trustScript = `
mode=$1 anchors=$2 lowers=$3
${shellFunctions}
${mountRoot}
${prepare}
in_root mkdir -p /usr/local/share/ca-certificates
for anchor in $anchors; do
  in_root install -m 644 "${inputsMount}/\${anchor#*=}" "/usr/local/share/ca-certificates/\${anchor%%=*}.crt"
done
in_root update-ca-certificates 2>&1
${finish}
`;

/** Prints a tree as an archive that the same tree always gives. */
export const archiveScript = `
exec tar --create --directory=${workMount} --sort=name --numeric-owner --format=pax \\
  --pax-option=delete=atime,delete=ctime --xattrs --xattrs-include='*' --one-file-system .
`;

/** Unpacks the archive that comes on standard input into `tree`. */
export const unpackScript = `
mkdir ${workMount}/tree
exec tar --extract --directory=${workMount}/tree --numeric-owner --same-owner --preserve-permissions \\
  --xattrs --xattrs-include='*'
`;

/** Removes the paths that come on standard input, each ended by a zero byte, from a tree. */
export const removeScript = `
cd ${workMount}
exec xargs -0 -r rm -rf --
`;

/** Empties them. */
export const emptyScript = `
cd ${workMount}
exec xargs -0 -r -n 1 sh -c ': >"$1"' sh
`;
