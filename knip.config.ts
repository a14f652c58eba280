// Unused files, exports, and dependencies fail the suite `unused`. With --production tests do not count as users: a rule
// that only tests call is used or deleted.
const production = process.argv.includes('--production');

export default {
  entry: [
    'src/*/main.ts!',
    // Worker threads are started by file name.
    'src/oci/chunks/store-worker.ts!',
    'src/build/lock/match-worker.ts!',
    // The face of the room for clusters: capture and rollout call it.
    'src/kube/{cluster,follow}.ts!',
    'src/kube/sim/{kubelet,simulated-cluster}.ts!',
    // Captures have their rules, their cleaner, and their scan before their operation.
    'src/domain/capture/{checklist,donor,extension}.ts!',
    'src/disk/clean/{clean-disk,scan-disk}.ts!',
    'src/inventory/linux/writable-layers.ts!',
    // Windows nodes have the plan of their first start before a build puts the script into images, and the codes
    // of installers have their answers before a build installs updates.
    'src/domain/windows-node/first-boot.ts!',
    'src/domain/build/windows-installer.ts!',
    'scripts/*.ts!',
    '!scripts/*.test.ts!',
    'test/**/*.test.ts',
    'test/bench/*.ts',
    // Tests start these as processes of their own.
    'test/support/{half-way,lease-holder,log-requests,store-child}.ts',
  ],
  project: ['src/**/*.ts!', '!src/**/*.test.ts!', 'scripts/**/*.ts!', '!scripts/*.test.ts!', 'test/**/*.ts'],
  // Types that an exported interface names are exported too. Tests may call the inside of a file.
  ignoreExportsUsedInFile: production ? true : { interface: true, type: true },
  // Loaded by dependency-cruiser; `node` is run by bin/imago; the schemas' judges are fetched by scripts/get-schemas.ts.
  ignoreDependencies: [...(production ? ['node'] : []), '@swc/core', 'ajv-formats'],
  ignoreBinaries: [
    'adduser',
    'nsenter',
    'perl',
    'qemu-system-x86_64',
    'sha256sum',
    'systemd-analyze',
    'systemd-notify',
    'unshare',
    'useradd',
    'xz',
  ],
};
