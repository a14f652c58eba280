// The container runtime: the image's configuration with the values of the config; registry mirrors as files that it reads
// at each pull; limits of its service.
import {
  generatedHeader,
  hasUnit,
  ownHost,
  runtimeUnit,
  type Step,
  type StepContext,
  sorted,
  wantsKubelet,
} from '../desired/step.ts';
import { setToml, type TomlValue, tomlLine, tomlTexts, tomlVersion } from '../system/toml.ts';
import { cniTemplate, isPodRangeTemplate } from './network.ts';

const configPath = '/etc/containerd/config.toml';
const mirrorFolder = '/etc/containerd/certs.d';
/**
 * The plugin that the kubelet uses, and in older files the table of its settings. Containerd starts without it, and reports
 * itself ready, unless it is required.
 */
const kubeletPlugin = 'io.containerd.grpc.v1.cri';

export const runtimeStep: Step = {
  name: 'runtime',
  async run(context) {
    const { config, system, desired, services } = context;
    if (!hasUnit(system, runtimeUnit)) return;
    services.start.add(runtimeUnit);
    const { runtime } = config;
    if (runtime === undefined && !wantsKubelet(context)) return;
    const text = desired.originalText(configPath) ?? 'version = 2\n';
    await ownHost(context, 'runtime', `restart:${runtimeUnit}`).writeText(
      configPath,
      withSettings(text, context),
    );
    for (const [registry, mirrors] of sorted(runtime?.mirrors ?? {})) {
      const path = `${mirrorFolder}/${registry}/hosts.toml`;
      await ownHost(context, 'runtime').writeText(path, mirrorText(registry, mirrors));
    }
    const { nofile, memlockBytes, tasks } = runtime?.limits ?? {};
    const lines = [
      nofile === undefined ? '' : `LimitNOFILE=${nofile}\n`,
      memlockBytes === undefined ? '' : `LimitMEMLOCK=${memlockBytes}\n`,
      tasks === undefined ? '' : `TasksMax=${tasks}\n`,
    ].join('');
    if (lines === '') return;
    const host = ownHost(context, 'runtime', 'units', `restart:${runtimeUnit}`);
    await host.writeText(
      `/etc/systemd/system/${runtimeUnit}.d/50-imago-limits.conf`,
      `${generatedHeader}[Service]\n${lines}`,
    );
  },
};

type Setting = readonly [table: readonly string[], key: string, value: TomlValue | undefined];

function withSettings(text: string, context: StepContext): string {
  const {
    cgroupDriver = 'systemd',
    sandboxImage,
    maxConcurrentDownloads,
    maxLogLineBytes,
  } = context.config.runtime ?? {};
  const newer = (tomlVersion(text) ?? 2) >= 3;
  const images = ['plugins', newer ? 'io.containerd.cri.v1.images' : kubeletPlugin];
  const runtime = ['plugins', newer ? 'io.containerd.cri.v1.runtime' : kubeletPlugin];
  const settings: readonly Setting[] = [
    [[...runtime, 'containerd', 'runtimes', 'runc'], 'runtime_type', 'io.containerd.runc.v2'],
    [[...runtime, 'containerd', 'runtimes', 'runc', 'options'], 'SystemdCgroup', cgroupDriver === 'systemd'],
    [[...images, 'registry'], 'config_path', mirrorFolder],
    newer ? [[...images, 'pinned_images'], 'sandbox', sandboxImage] : [images, 'sandbox_image', sandboxImage],
    [images, 'max_concurrent_downloads', maxConcurrentDownloads],
    [runtime, 'max_container_log_line_size', maxLogLineBytes],
    [[...runtime, 'cni'], 'conf_template', isPodRangeTemplate(context.config) ? cniTemplate : undefined],
  ];
  let result = tomlVersion(text) === undefined ? setToml(text, [], 'version', 2) : text;
  for (const [table, key, value] of settings) {
    if (value !== undefined) result = setToml(result, table, key, value);
  }
  return wantsKubelet(context) ? withKubeletPlugin(result) : result;
}

/** Adds to the plugins that the image requires. A multi-line list stays as it is; files of version 1 have no such names. */
function withKubeletPlugin(text: string): string {
  const key = 'required_plugins';
  const line = tomlLine(text, key);
  const required = line === undefined ? [] : tomlTexts(line);
  if (tomlVersion(text) === 1 || required === undefined || required.includes(kubeletPlugin)) return text;
  return setToml(text, [], key, [...required, kubeletPlugin]);
}

function mirrorText(registry: string, mirrors: readonly string[]): string {
  const server = registry === '_default' ? '' : `server = ${JSON.stringify(`https://${registry}`)}\n`;
  const hosts = mirrors.map(
    (mirror) => `\n[host.${JSON.stringify(mirror)}]\n  capabilities = ["pull", "resolve"]\n`,
  );
  return generatedHeader + server + hosts.join('');
}
