// The starter recipe of `imago init`, which builds with any Debian mirror, and in the simulation.
import { dirname, relative, sep } from 'node:path';

/** Returns the line by which editors find the schema: with a path that is valid on other hosts, if possible. */
export function schemaLine(schema: string, recipeFile: string): string {
  const [home = '', inside] = schema.split(`${sep}node_modules${sep}`, 2);
  const folder = dirname(recipeFile);
  const isShared = inside !== undefined && `${folder}${sep}`.startsWith(`${home}${sep}`);
  const path = isShared ? relative(folder, schema) : schema;
  return `# yaml-language-server: $schema=${path}\n`;
}

export const starterRecipe = `# What is on a node, in one place. Check it with: imago recipe check
name: node
# How versions are numbered: semver, date, calendar, kubernetes or kubernetes-build.
numbering: calendar
os: linux
architecture: x64
# The newest of Debian; \`imago recipe lock\` writes down which ones these are.
packages:
  - containerd
  - runc
# A component of your own comes from an address, a file, a folder, an archive or a registry:
#components:
#  - name: kubelet
#    version: 1.36.2
#    from: {file: "kubelet-\${version}"}
#    to: /usr/bin/kubelet
settings:
  sysctl:
    net.ipv4.ip_forward: 1
`;
