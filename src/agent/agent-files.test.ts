import { describe, expect, it } from 'vitest';
import { localMachineProduct } from '../domain/node/node.ts';
import { installSection } from '../install/enable-unit.ts';
import { agentFiles } from './agent-files.ts';
import { configuredPath, identifiedPath } from './system/paths.ts';

function text(end: string): string {
  return agentFiles().find(({ path }) => path.endsWith(end))?.text ?? '';
}

describe('what the agent brings to an image', () => {
  it('starts the service at boot, and the owner’s doors only where there are ports for them', () => {
    expect(installSection(text('imago-agent.service')).wantedBy).toEqual(['multi-user.target']);
    for (const unit of ['imago-commands.service', 'imago-shell.service']) {
      expect(installSection(text(unit))).toEqual({ wantedBy: [], requiredBy: [], alias: [] });
      expect(text('99-imago.rules')).toContain(`ENV{SYSTEMD_WANTS}+="${unit}"`);
    }
  });

  it('opens the owner’s doors only on local machines of Imago, by what their firmware says', () => {
    const rules = text('99-imago.rules').trim().split('\n').slice(1);
    expect(rules).toHaveLength(2);
    for (const rule of rules)
      expect(rule.split(', ')).toContain(`ATTR{[dmi/id]product_name}=="${localMachineProduct}"`);
  });

  it('holds services back by the marks that the agent sets', () => {
    for (const unit of ['containerd', 'kubelet']) {
      expect(text(`${unit}.service.d/10-imago.conf`)).toContain(`ConditionPathExists=${configuredPath}\n`);
    }
    expect(text('ssh.service.d/10-imago.conf')).toContain(`ConditionPathExists=${identifiedPath}\n`);
  });

  it('says what the agent can do', () => {
    const { abilities } = JSON.parse(text('abilities.json')) as { abilities: readonly string[] };
    expect(abilities).toContain('hotfixes');
    expect(abilities).not.toContain('flying');
  });
});
