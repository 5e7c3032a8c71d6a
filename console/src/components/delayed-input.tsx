import { useEffect, useState } from 'preact/hooks'

interface DelayedInputProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly class?: string
}

/** A text that is applied when the person pauses typing. */
export function DelayedInput({ label, value, onChange, ...rest }: DelayedInputProps) {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  useEffect(() => {
    if (text === value) return
    const timer = setTimeout(() => onChange(text.trim()), 300)
    return () => clearTimeout(timer)
  }, [text, value, onChange])
  return (
    <input
      class={`input input-small ${rest.class ?? ''}`}
      type="search"
      placeholder={label}
      aria-label={label}
      value={text}
      maxLength={200}
      onInput={({ currentTarget }) => setText(currentTarget.value)}
    />
  )
}
