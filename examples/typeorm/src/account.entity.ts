import { Check, Column, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';

@Entity('accounts')
@Check('balance >= 0')
export class Account {
  @PrimaryColumn('text')
  id!: string;

  @Column('integer')
  balance!: number;

  /** The largest fencing token that has worked on this row. A bigint, which the driver returns as a string. */
  @Column('bigint', { name: 'lock_token', default: 0 })
  lockToken!: string;
}

@Entity('withdrawals')
export class Withdrawal {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column('text')
  account!: string;

  @Column('integer')
  amount!: number;
}
