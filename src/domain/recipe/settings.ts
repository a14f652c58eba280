// The configuration of the system that a recipe asks for, as data: no scripts.

export type RecipeSettings = {
  /** Kernel parameters by name. */
  readonly sysctl?: Readonly<Record<string, string | number>>;
  /** Kernel modules that are loaded at each start. */
  readonly modules?: readonly KernelModule[];
  readonly units?: readonly UnitSetting[];
  readonly users?: readonly UserSetting[];
  readonly files?: readonly ConfigFile[];
  readonly kernelArguments?: readonly string[];
  /** Resource limits of services and logins by their name in lower case, e.g. `nofile`. */
  readonly limits?: Readonly<Record<string, number | 'infinity'>>;
  readonly time?: TimeSetting;
  /** Certificates of authorities that the system trusts beyond its own. */
  readonly trust?: readonly TrustAnchor[];
  /** For the simulated provider alone: what shall go wrong. */
  readonly sim?: SimSetting;
};

/** One of `content` and `file`. */
export type ConfigFile = {
  readonly path: string;
  readonly content?: string;
  readonly file?: string;
  /** Octal; 0644 when absent. */
  readonly mode?: string;
  /** `USER:GROUP`, by name or number; root:root when absent. */
  readonly owner?: string;
};

export type KernelModule = {
  readonly name: string;
  readonly options?: string;
};

export const unitStates = ['enabled', 'disabled', 'masked'] as const;
export type UnitState = (typeof unitStates)[number];

/** One of `content` and `file` for a new unit, neither for one that a package brings. */
export type UnitSetting = {
  readonly name: string;
  readonly state?: UnitState;
  readonly content?: string;
  readonly file?: string;
  /** Lines that are laid over a unit. */
  readonly dropIn?: string;
};

/** A user that nobody can log in as by password. */
export type UserSetting = {
  readonly name: string;
  /** The next free one from 1000 on when absent. */
  readonly uid?: number;
  readonly groups?: readonly string[];
  readonly shell?: string;
  readonly home?: string;
  /** Public keys for ssh, one line each. */
  readonly authorizedKeys?: readonly string[];
};

export type TimeSetting = {
  /** As in `Europe/Berlin`. */
  readonly zone?: string;
  readonly servers?: readonly string[];
};

/** One of `content` and `file`: PEM. */
export type TrustAnchor = {
  readonly name: string;
  readonly content?: string;
  readonly file?: string;
};

export type SimSetting = {
  readonly breaks?: string;
};
