import { OperatorError } from 'parley-a2a/operator'
import type { ComponentChildren } from 'preact'
import { Icon } from './icon.tsx'
import './states.css'

interface WholePage {
  /** Whether there is nothing around it. */
  readonly isWholePage?: boolean
}

const classOf = ({ isWholePage }: WholePage) => `state ${isWholePage ? 'state-whole-page' : ''}`

/** Shown while data is read. It appears after a moment, so that quick answers do not flicker. */
export function LoadingState({ label = 'Loading', isWholePage }: WholePage & { readonly label?: string }) {
  if (isWholePage) {
    return (
      <div class="state state-whole-page state-loading" role="status">
        <span class="state-label">
          <span class="spinner" aria-hidden="true" /> {label}…
        </span>
      </div>
    )
  }
  return (
    <div class="state-loading skeleton" role="status">
      <span class="muted small">{label}…</span>
      <span class="skeleton-bar" aria-hidden="true" />
      <span class="skeleton-bar" aria-hidden="true" />
      <span class="skeleton-bar" aria-hidden="true" />
    </div>
  )
}

/** Shown instead of an empty list. Children say what to do. */
export function EmptyState({
  title,
  children,
  ...size
}: WholePage & { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class={classOf(size)}>
      <h2>{title}</h2>
      {children && <p>{children}</p>}
    </div>
  )
}

interface ErrorStateProps extends WholePage {
  readonly error: unknown
  readonly title?: string
  readonly onRetry?: () => void
  readonly retryLabel?: string
}

/** Shown instead of data that could not be read. */
export function ErrorState({
  error,
  title = 'This could not be loaded',
  onRetry,
  retryLabel,
  ...size
}: ErrorStateProps) {
  return (
    <div class={classOf(size)} role="alert">
      <h2>{title}</h2>
      <p class="breakable">{messageOf(error)}</p>
      {onRetry && (
        <button type="button" class="button" onClick={onRetry}>
          {retryLabel ?? 'Try again'}
        </button>
      )}
    </div>
  )
}

/** A message within a page: something failed, needs attention, or is good to know. */
export function Notice({
  kind,
  children,
}: {
  readonly kind: 'error' | 'warning' | 'info'
  readonly children: ComponentChildren
}) {
  return (
    <div class={`notice notice-${kind}`} role={kind === 'error' ? 'alert' : 'status'}>
      <Icon name={kind === 'info' ? 'info' : 'warning'} />
      <div class="breakable">{children}</div>
    </div>
  )
}

/** The text of an error for people. */
export function messageOf(error: unknown): string {
  // Browsers do not say why there was no answer.
  const isUnanswered = error instanceof OperatorError && error.status === 0
  if (isUnanswered) return 'The server did not answer. It may be stopped, or the network is down.'
  return error instanceof Error ? error.message : `${error}`
}
