import { Component, type ComponentChildren } from 'preact'
import { ErrorState } from './states.tsx'

interface Props {
  readonly children: ComponentChildren
  /** The boundary renders its children again when this changes. */
  readonly resetKey?: string
}

/** Shows an error instead of children that cannot be rendered. */
export class ErrorBoundary extends Component<Props, { readonly error?: unknown; readonly key?: string }> {
  static override getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override componentDidCatch(error: unknown) {
    console.error(error)
    this.setState({ error, ...(this.props.resetKey !== undefined && { key: this.props.resetKey }) })
  }

  override componentDidUpdate() {
    const { error, key } = this.state
    if (error !== undefined && key !== this.props.resetKey) this.setState({ error: undefined })
  }

  override render({ children }: Props) {
    const { error } = this.state
    if (error === undefined) return children
    const title = 'This part of the console failed'
    return <ErrorState error={error} title={title} onRetry={() => this.setState({ error: undefined })} />
  }
}
