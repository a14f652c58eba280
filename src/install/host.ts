// What putting things on a system needs from it. When an image is baked, the host is a layer in the making; on a
// node it is the node itself. The same code serves both, so what a hotfix does is what the next image has.

/** A thing that is fetched and checked before it is placed. */
export interface HostInput {
  readonly name: string;
  readonly version: string;
  readonly sha256: string;
  readonly sizeBytes: number;
  readonly source: string;
}

export interface FileOptions {
  /** Permission bits; 0644 when absent. */
  readonly mode?: number;
  readonly uid?: number;
  readonly gid?: number;
}

export interface UnpackOptions {
  /** Leading folders that are left out. */
  readonly strip?: number;
  /** Only these paths, after `strip`; a folder with all below it. */
  readonly only?: readonly string[];
}

/**
 * Paths are absolute. Every method makes the folders above a path if they are missing, replaces what stands
 * there in one moment, and does nothing when it is as it should be already: a second call changes nothing.
 */
export interface Host {
  /** The text of a file, links followed; undefined when there is none. */
  readText(path: string): Promise<string | undefined>;
  /** The names in a folder, sorted; none when there is no such folder. */
  list(path: string): Promise<readonly string[]>;
  /** What a symbolic link says; undefined when there is none. */
  readLink(path: string): Promise<string | undefined>;
  writeText(path: string, text: string, options?: FileOptions): Promise<void>;
  makeFolder(path: string, options?: FileOptions): Promise<void>;
  /** A symbolic link. */
  link(path: string, target: string): Promise<void>;
  /** Removes a file, a link or a folder with all below it. */
  remove(path: string): Promise<void>;
  placeFile(input: HostInput, path: string, mode: number): Promise<void>;
  /** The files of an archive below a folder, owned by root. */
  unpackArchive(input: HostInput, folder: string, options: UnpackOptions): Promise<void>;
  /** The files of an OCI artifact below a folder: archives unpacked, others by their title and with the mode. */
  unpackArtifact(input: HostInput, folder: string, mode: number): Promise<void>;
}
