// What `imago init` writes.
export const firstRecipe = `# What is on a node, in one place. Check it with: imago recipe check
name: node
# How versions are numbered: semver, date, calendar, kubernetes or kubernetes-build.
numbering: calendar
os: linux
architecture: x64
kubernetes: 1.34.2
components:
  - name: containerd
    version: 1.7.24
  - name: kubelet
    version: 1.34.2
`;
