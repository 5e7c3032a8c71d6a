import { useState } from 'preact/hooks'
import { Icon } from './icon.tsx'

interface CopyButtonProps {
  readonly text: string | (() => string)
  readonly label?: string
  /** Whether the label is for screen readers only. */
  readonly isIconOnly?: boolean
}

/** Copies a text. Screen readers read that it was copied. */
export function CopyButton({ text, label = 'Copy', isIconOnly }: CopyButtonProps) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  async function copy() {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : text())
      setState('copied')
    } catch {
      setState('failed')
    }
    setTimeout(() => setState('idle'), 2_000)
  }
  return (
    <button type="button" class="button button-plain button-small" title={label} onClick={copy}>
      <Icon name={state === 'copied' ? 'check' : 'copy'} />
      <span class={isIconOnly && state === 'idle' ? 'visually-hidden' : undefined} aria-live="polite">
        {state === 'copied' ? 'Copied' : state === 'failed' ? 'Not allowed' : label}
      </span>
    </button>
  )
}
