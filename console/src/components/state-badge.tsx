/** How a state is shown: the colour only supports the label. */
type Tone = 'ok' | 'active' | 'warning' | 'bad' | 'neutral'

const states: Readonly<Record<string, { readonly label: string; readonly tone: Tone }>> = {
  received: { label: 'Received', tone: 'active' },
  submitted: { label: 'Submitted', tone: 'active' },
  working: { label: 'Working', tone: 'active' },
  'input-required': { label: 'Needs input', tone: 'warning' },
  'auth-required': { label: 'Needs credentials', tone: 'warning' },
  answered: { label: 'Answered', tone: 'ok' },
  completed: { label: 'Completed', tone: 'ok' },
  failed: { label: 'Failed', tone: 'bad' },
  rejected: { label: 'Rejected', tone: 'bad' },
  canceled: { label: 'Canceled', tone: 'neutral' },
  expired: { label: 'Expired', tone: 'neutral' },
  unknown: { label: 'Unknown', tone: 'neutral' },
  stuck: { label: 'Stuck', tone: 'bad' },
}

/** The label of a task state for people. */
export function stateLabel(state: string): string {
  return states[state]?.label ?? state
}

/** The state of a task, as a word on a coloured ground. */
export function StateBadge({ state }: { readonly state: string }) {
  const { label, tone } = states[state] ?? { label: state, tone: 'neutral' }
  return <Badge tone={tone}>{label}</Badge>
}

/** A word on a coloured ground. */
export function Badge({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  return (
    <span class={`badge badge-${tone}`} title={children.length > 20 ? children : undefined}>
      <bdi>{children}</bdi>
    </span>
  )
}
