import type { Loss } from './report.ts'

/**
 * What callers of an older version lack, compared to 1.0. docs/reference/dialects.md has the members of every object; these are the
 * consequences.
 */
export function lossesOf(version: string): readonly Loss[] {
  const lost = losses.filter(({ versions }) => versions.includes(version))
  return lost.map(({ feature, effect }) => ({ version, feature, effect }))
}

const all = ['0.1', '0.2', '0.3']
const before0_3 = ['0.1', '0.2']

const losses: readonly (Omit<Loss, 'version'> & { readonly versions: readonly string[] })[] = [
  { versions: all, feature: 'list of tasks', effect: 'Callers find only tasks whose ids they have kept.' },
  { versions: all, feature: 'tenants', effect: 'One address cannot serve several agents; each needs its own path.' },
  { versions: all, feature: 'version per interface', effect: 'Other versions at other addresses cannot be declared.' },
  { versions: all, feature: 'device code login', effect: 'Command lines and devices cannot log in by the card alone.' },
  { versions: all, feature: 'required PKCE', effect: 'The card cannot demand PKCE of its callers.' },
  { versions: all, feature: 'data of any JSON type', effect: 'Numbers, texts and null cannot travel as data parts.' },
  { versions: before0_3, feature: 'signed cards', effect: 'Callers cannot verify who has written the card.' },
  { versions: ['0.1'], feature: 'REST and gRPC', effect: 'Only JSON-RPC is defined.' },
  { versions: before0_3, feature: 'security per skill', effect: 'All skills have the requirements of the agent.' },
  { versions: ['0.1'], feature: 'message ids', effect: 'A repeated message cannot be recognised.' },
  { versions: ['0.1'], feature: 'answers without a task', effect: 'Every message creates or continues a task.' },
  { versions: ['0.1'], feature: 'security schemes', effect: 'The card names schemes, but not how to use them.' },
  { versions: ['0.1'], feature: 'extensions', effect: 'Extensions can be neither declared nor activated.' },
  { versions: ['0.1'], feature: 'extended card', effect: 'Authenticated callers see the same card as all others.' },
  {
    versions: ['0.1'],
    feature: 'rejected and auth-required',
    effect: 'These states do not exist.',
  },
  { versions: ['0.1'], feature: 'several webhooks per task', effect: 'A task has at most one webhook.' },
]
