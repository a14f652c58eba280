// What clients on other hosts send for their recipes: files by sha256, and the directories that are made from them. They
// are part of the build cache, which deletes what was unused for the longest time.

export interface WantedFile {
  readonly sha256: string;
  /** Absent for the list itself. */
  readonly sizeBytes?: number;
}

export interface SentFiles {
  /**
   * Stores the files of a stream: for each a line with its sha256 and its size, and its bytes. Those that arrived complete
   * stay if the stream ends early. Throws `input-mismatch` for a file that changed, `upload-quota`, and `input-invalid`.
   */
  receive(content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<{ readonly files: number }>;
  /**
   * Makes the directory of a list, or finds it. Returns what has to be sent first. Throws `input-invalid` for a list that
   * cannot be a directory, and `upload-quota`.
   */
  place(list: string): Promise<{ readonly missing: readonly WantedFile[] }>;
}
