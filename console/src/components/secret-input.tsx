interface SecretInputProps {
  readonly id: string
  readonly value: string
  readonly onInput: (value: string) => void
  readonly describedBy?: string
}

/** An input whose value is neither shown nor offered by the browser again. */
export function SecretInput({ id, value, onInput, describedBy }: SecretInputProps) {
  return (
    <input
      id={id}
      class="input"
      type="password"
      autocomplete="off"
      autocapitalize="off"
      spellcheck={false}
      aria-describedby={describedBy}
      value={value}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  )
}
