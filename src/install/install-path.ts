// Paths on the node, as text: this code also runs where there is no path library.

export function installPath(folder: string, name: string): string {
  return `${folder.replace(/\/+$/, '')}/${name.replace(/^\/+/, '')}`;
}
