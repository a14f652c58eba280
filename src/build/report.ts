// What a build tells while it runs.

export interface BuildReport {
  begin(step: string): void;
  /** `reused` when nothing had to be done. */
  end(step: string, reused?: boolean): void;
  bytes(step: string, bytes: number, total: number): void;
  log(step: string, line: string): void;
}

export const noReport: BuildReport = {
  begin() {},
  end() {},
  bytes() {},
  log() {},
};
