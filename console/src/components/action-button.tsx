import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { reasonNotToAct } from '../api/session.ts'

interface ActionButtonProps {
  readonly children: ComponentChildren
  readonly onClick?: () => void
  readonly type?: 'button' | 'submit'
  readonly kind?: 'primary' | 'danger' | 'plain'
  readonly isBusy?: boolean
  /** Why the button cannot be used at the moment, beside the role of the person. */
  readonly reason?: string | undefined
  readonly label?: string
}

/**
 * A button that changes something. Viewers see it with the reason why they cannot use it. It stays focusable then, so that
 * screen readers read the reason.
 */
export function ActionButton({ children, onClick, type = 'button', kind, isBusy, label, ...rest }: ActionButtonProps) {
  const id = useId()
  const reason = reasonNotToAct.value ?? rest.reason
  const isDisabled = reason !== undefined || isBusy === true
  return (
    <span class="action">
      <button
        type={type}
        class={`button ${kind ? `button-${kind}` : ''}`}
        aria-disabled={isDisabled}
        aria-describedby={reason ? id : undefined}
        aria-label={label}
        aria-busy={isBusy}
        title={reason}
        onClick={(event) => {
          if (!isDisabled) return onClick?.()
          event.preventDefault()
        }}
      >
        {isBusy && <span class="spinner" aria-hidden="true" />}
        {children}
      </button>
      {reason && (
        <span id={id} class="visually-hidden">
          {reason}
        </span>
      )}
    </span>
  )
}
