import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { Icon } from './icon.tsx'

interface DialogProps {
  readonly title: string
  readonly children: ComponentChildren
  /** Undefined if the dialog cannot be left. */
  readonly onClose?: () => void
}

/** A modal dialog. The browser keeps the focus inside; it returns to where it was when the dialog is removed. */
export function Dialog({ title, children, onClose }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const element = dialog.current
    const opener = document.activeElement
    element?.showModal()
    return () => {
      element?.close()
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class="dialog"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose?.()
      }}
    >
      <div class="dialog-header">
        <h2 id={id}>{title}</h2>
        {onClose && (
          <button type="button" class="button button-plain button-icon" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        )}
      </div>
      {children}
    </dialog>
  )
}
