import { ConflictException, Injectable } from '@nestjs/common';

interface Row {
  guest: string | null;
  lockToken: number;
}

/** A table that rejects the tokens of older holders. Your database does the same with a column and a condition. */
@Injectable()
export class SeatsTable {
  private readonly rows = new Map<string, Row>();

  /** UPDATE seats SET lock_token = :token WHERE id = :id AND lock_token <= :token RETURNING guest */
  read(id: string, token: number): string | null {
    const row = this.rowFor(id, token);
    row.lockToken = token;
    return row.guest;
  }

  /** UPDATE seats SET guest = :guest WHERE id = :id AND lock_token <= :token */
  write(id: string, guest: string, token: number): void {
    this.rowFor(id, token).guest = guest;
  }

  private rowFor(id: string, token: number): Row {
    const row = this.rows.get(id) ?? { guest: null, lockToken: 0 };
    if (row.lockToken > token) throw new ConflictException('A newer request has used this seat.');
    this.rows.set(id, row);
    return row;
  }
}
