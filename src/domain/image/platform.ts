export const operatingSystems = ['linux', 'windows'] as const;
export type OperatingSystem = (typeof operatingSystems)[number];

export const architectures = ['x64', 'arm64'] as const;
export type Architecture = (typeof architectures)[number];
